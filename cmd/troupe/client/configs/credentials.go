package configs

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/codec/kerr"
)

// The SCRAM mechanisms by their codes in the credential APIs (KIP-554).
var scramCode = map[string]int8{"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}

// The bounds are those of Kafka's ScramMechanism; RFC 7677 wants at least 4096 iterations.
const (
	scramIterations    = 4096 // the default, and the least
	scramMaxIterations = 16384
	saltBytes          = 24
)

// isScram tells credentials from quotas: both are given as configs of users.
func isScram(key string) bool { return scramCode[key] != 0 }

// describeCredentials shows the mechanisms and iterations of users. Salted passwords are never sent back (KIP-554). A
// user that cannot be looked up is told and the others are shown.
func (c *command) describeCredentials(ctx context.Context, names []string) error {
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range names {
		req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
	}
	resp, err := connection.Ask(ctx, c.admin, "describeUserScramCredentials", req.RequestWith)
	if err != nil {
		return err
	}
	if err := kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return err
	}
	for _, user := range resp.Results {
		if kerr.Code(user.ErrorCode) == kerr.ResourceNotFound { // a user without credentials is not shown
			continue
		}
		if err := kafkatext.Answer(user.ErrorCode, user.ErrorMessage); err != nil {
			fmt.Fprintf(c.streams.Out, "Error retrieving SCRAM credential configs for user-principal '%s': ExecutionException: %s\n", user.User, err)
			continue
		}
		var infos []string
		for _, info := range user.CredentialInfos {
			for name, code := range scramCode {
				if code == info.Mechanism {
					infos = append(infos, fmt.Sprintf("%s=iterations=%d", name, info.Iterations))
				}
			}
		}
		fmt.Fprintf(c.streams.Out, "SCRAM credential configs for user-principal '%s' are %s\n", user.User, strings.Join(infos, ", "))
	}
	return nil
}

// alterCredentials sets and deletes credentials of one user in one request, so that a change of mechanism is atomic.
func (c *command) alterCredentials(ctx context.Context, user string, set kafkatext.Properties, unset []string) error {
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, mechanism := range unset {
		req.Deletions = append(req.Deletions, kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: user, Mechanism: scramCode[mechanism]})
	}
	for _, mechanism := range slices.Sorted(maps.Keys(set)) {
		upsertion, err := newCredential(user, mechanism, set[mechanism])
		if err != nil {
			return err
		}
		req.Upsertions = append(req.Upsertions, upsertion)
	}
	resp, err := connection.Ask(ctx, c.admin, "alterUserScramCredentials", req.RequestWith)
	if err != nil {
		return err
	}
	for _, r := range resp.Results {
		if err := kafkatext.Answer(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

var credentialPattern = regexp.MustCompile(`^(?:iterations=(-?[0-9]*),)?password=(.*)$`)

// newCredential salts a password (RFC 5802); the password itself never leaves this process.
func newCredential(user, mechanism, text string) (kmsg.AlterUserSCRAMCredentialsRequestUpsertion, error) {
	up := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	// The script's enum constant stands in its message, with underscores.
	m := credentialPattern.FindStringSubmatch(text)
	if m == nil {
		return up, illegal("Invalid credential property %s=%s", strings.ReplaceAll(mechanism, "-", "_"), text)
	}
	iterations := scramIterations
	// -1 means the default as well, as the script's own default does.
	if m[1] != "" && m[1] != "-1" {
		var err error
		if iterations, err = strconv.Atoi(m[1]); err != nil {
			return up, illegal("For input string: %q", m[1])
		}
	}
	if iterations < scramIterations {
		return up, illegal("Iterations %d is less than the minimum %d required for %s", iterations, scramIterations, mechanism)
	}
	if iterations > scramMaxIterations {
		return up, illegal("Iterations %d is more than the maximum %d allowed for %s", iterations, scramMaxIterations, mechanism)
	}
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return up, fmt.Errorf("draw a salt: %w", err)
	}
	newHash, size := func() hash.Hash { return sha256.New() }, sha256.Size
	if mechanism == "SCRAM-SHA-512" {
		newHash, size = func() hash.Hash { return sha512.New() }, sha512.Size
	}
	salted, err := pbkdf2.Key(newHash, m[2], salt, iterations, size)
	if err != nil {
		return up, fmt.Errorf("salt the password: %w", err)
	}
	up.Name, up.Mechanism, up.Iterations, up.Salt, up.SaltedPassword = user, scramCode[mechanism], int32(iterations), salt, salted
	return up, nil
}
