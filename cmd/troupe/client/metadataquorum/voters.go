package metadataquorum

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/model"
)

// changed is what -o json says of a change, done or only shown.
type changed struct {
	Controller int32    `json:"controllerId"`
	Directory  string   `json:"directoryId"`
	Endpoints  []string `json:"endpoints,omitempty"`
	DryRun     bool     `json:"dryRun"`
}

// add is the command add-controller. The controller is that of the property file, and its directory is on this machine.
type add struct {
	complainer
	shared *shared
}

func (a *add) Define(fs *pflag.FlagSet) { fs.Bool("dry-run", false, "show what would be done") }

func (a *add) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	client, err := a.shared.open(s)
	if err != nil {
		return err
	}
	defer client.Close()
	if !a.shared.config.Given() {
		return option.Fail("You must supply the configuration file of the controller you are adding when using add-controller.")
	}
	c, err := controllerOf(client.props)
	if err != nil {
		return err
	}
	done := changed{Controller: c.id, Directory: c.directory.String(), DryRun: fs.Changed("dry-run")}
	req := kmsg.NewPtrAddRaftVoterRequest()
	req.VoterID, req.VoterDirectoryID = c.id, c.directory
	for _, l := range c.listeners {
		one := kmsg.NewAddRaftVoterRequestListener()
		one.Name, one.Host, one.Port = l.name, l.host, l.port
		req.Listeners = append(req.Listeners, one)
		done.Endpoints = append(done.Endpoints, endpoint(l.name, l.host, l.port))
	}
	if !done.DryRun {
		req.TimeoutMillis = int32(client.Timeout.Milliseconds())
		_, err := connection.AskSettled(ctx, client.Client, "addRaftVoter", req.RequestWith, func(r *kmsg.AddRaftVoterResponse) error {
			return kafkatext.Answer(r.ErrorCode, r.ErrorMessage)
		})
		if err != nil {
			return told(ctx, err)
		}
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, done)
	}
	verb := "Added"
	if done.DryRun {
		verb = "DRY RUN of adding"
	}
	_, err = fmt.Fprintf(s.Out, "%s controller %d with directory id %s and endpoints: %s\n", verb, c.id, c.directory, strings.Join(done.Endpoints, ", "))
	return err
}

// parseDirectory reads a directory id, and says what is wrong with one as Java's decoder does.
func parseDirectory(text string) (model.UUID, error) {
	const longest = 24 // with padding
	if len(text) > longest {
		return model.UUID{}, fmt.Errorf("Input string with prefix `%s` is too long to be decoded as a base64 UUID", text[:longest])
	}
	text = strings.TrimRight(text, "=")
	id, err := base64.RawURLEncoding.DecodeString(text)
	var illegal base64.CorruptInputError
	switch {
	case errors.As(err, &illegal) && int(illegal) < len(text) && !strings.ContainsRune(urlAlphabet, rune(text[illegal])):
		return model.UUID{}, fmt.Errorf("Illegal base64 character %x", text[illegal])
	case err != nil && len(text) == 1:
		return model.UUID{}, errors.New("Input byte[] should at least have 2 bytes for base64 bytes")
	case err != nil:
		return model.UUID{}, errors.New("Last unit does not have enough valid bits")
	case len(id) != len(model.UUID{}):
		return model.UUID{}, fmt.Errorf("Input string `%s` decoded as %d bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID", text, len(id))
	}
	return model.UUID(id), nil
}

// urlAlphabet is that of RFC 4648, section 5.
const urlAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// remove is the command remove-controller.
type remove struct {
	complainer
	shared        *shared
	id, directory option.Text
}

func (r *remove) Define(fs *pflag.FlagSet) {
	option.Short(fs, &r.id, "controller-id", "i", "ID", "node.id of the voter")
	option.Short(fs, &r.directory, "controller-directory-id", "d", "UUID", "its directory id")
	fs.Bool("dry-run", false, "show what would be done")
}

// options are read by the parser, before the client is made; what they mean is checked after.
func (r *remove) options() (int64, error) {
	for _, o := range []struct {
		text *option.Text
		name string
	}{{&r.id, "--controller-id/-i"}, {&r.directory, "--controller-directory-id/-d"}} {
		if !o.text.Given() {
			return 0, misuse(fmt.Sprintf("argument %s is required", o.name))
		}
	}
	id, err := r.id.Int(32, 0)
	if err != nil {
		return 0, misuse(fmt.Sprintf("argument --controller-id/-i: could not convert '%s' to Integer (For input string: \"%s\")", r.id.Last(), r.id.Last()))
	}
	return id, nil
}

func (r *remove) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	id, err := r.options()
	if err != nil {
		return err
	}
	client, err := r.shared.open(s)
	if err != nil {
		return err
	}
	defer client.Close()
	if id < 0 {
		return option.Fail("Invalid negative --controller-id: %d", id)
	}
	directory, err := parseDirectory(r.directory.Last())
	if err != nil {
		return option.Fail("Failed to parse --controller-directory-id: %s", err)
	}
	done := changed{Controller: int32(id), Directory: directory.String(), DryRun: fs.Changed("dry-run")}
	if !done.DryRun {
		req := kmsg.NewPtrRemoveRaftVoterRequest()
		req.VoterID, req.VoterDirectoryID = int32(id), directory
		_, err := connection.AskSettled(ctx, client.Client, "removeRaftVoter", req.RequestWith, func(r *kmsg.RemoveRaftVoterResponse) error {
			return kafkatext.Answer(r.ErrorCode, r.ErrorMessage)
		})
		var failure *kafkatext.Failure
		if errors.As(err, &failure) && failure.Code == kerr.VoterNotFound.Code {
			return notThere(ctx, client.Client, failure, done)
		}
		if err != nil {
			return told(ctx, err)
		}
	}
	if option.JSON(fs) {
		return option.WriteJSON(s, done)
	}
	verb := "Removed "
	if done.DryRun {
		verb = "DRY RUN of removing "
	}
	_, err = fmt.Fprintf(s.Out, "%s KRaft controller %d with directory id %s\n", verb, id, directory) // two blanks, as the script
	return err
}

// notThere says who votes when a voter was to be removed that is none: perhaps since it was removed before, and the answer was
// lost.
func notThere(ctx context.Context, client *connection.Client, failure *kafkatext.Failure, asked changed) error {
	now, err := ask(ctx, client)
	if err != nil {
		return told(ctx, failure)
	}
	var voters []string
	for _, v := range now.voters {
		voters = append(voters, fmt.Sprintf("%d with directory id %s", v.ID, v.Directory))
	}
	return fmt.Errorf("%s\nController %d with directory id %s has no vote: it was removed before, or never had one. Those that vote: %s.",
		failure.Qualified(), asked.Controller, asked.Directory, strings.Join(voters, ", "))
}
