package configs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
	"troupe/internal/javatext"
)

// Match types of DescribeClientQuotas (KIP-546): an entity of this name, the default entity, every entity of the type.
const (
	matchExact   = 0
	matchDefault = 1
	matchAny     = 2
)

// quotaEntity maps entity types to what the quota APIs call them, and to how the script prints them.
var quotaEntity = map[string]struct{ api, text string }{
	users: {"user", "user-principal"}, clients: {"client-id", "client-id"}, ips: {"ip", "ip"},
}

// quota is an entity with its quotas; a part with a nil name is the default of its type.
type quota struct {
	entity []kmsg.DescribeClientQuotasResponseEntryEntity
	values []kmsg.DescribeClientQuotasResponseEntryValue
}

func (c *command) describeQuotas(ctx context.Context, types, names []string, credentials bool) error {
	quotas, err := c.quotas(ctx, types, names)
	if err != nil {
		return err
	}
	if option.JSON(c.fs) {
		return option.WriteJSON(c.streams, jsonQuotas(quotas))
	}
	for _, q := range quotas {
		fmt.Fprintln(c.streams.Out, q)
	}
	// Credentials belong to users alone, and to no default.
	if !credentials || slices.Contains(types, clients) || slices.Contains(names, "") {
		return nil
	}
	return c.describeCredentials(ctx, names)
}

// String gives the script's line: user, then client id, then address.
func (q quota) String() string {
	var who []string
	for _, kind := range []string{users, clients, ips} {
		for _, e := range q.entity {
			switch {
			case e.Type != quotaEntity[kind].api:
			case e.Name != nil:
				who = append(who, fmt.Sprintf("%s '%s'", quotaEntity[kind].text, *e.Name))
			default:
				who = append(who, "the default "+quotaEntity[kind].text)
			}
		}
	}
	values := make([]string, len(q.values))
	for i, v := range q.values {
		values[i] = v.Key + "=" + javatext.Double(v.Value, 64)
	}
	return fmt.Sprintf("Quota configs for %s are %s", strings.Join(who, ", "), strings.Join(values, ", "))
}

// jsonQuotas gives each entity as an object from type to name, null for the default entity.
func jsonQuotas(quotas []quota) []any {
	out := []any{}
	for _, q := range quotas {
		entity, values := map[string]*string{}, map[string]float64{}
		for _, e := range q.entity {
			entity[e.Type] = e.Name
		}
		for _, v := range q.values {
			values[v.Key] = v.Value
		}
		out = append(out, map[string]any{"entity": entity, "quotas": values})
	}
	return out
}

// quotas asks for the quotas of entities that have exactly these types.
func (c *command) quotas(ctx context.Context, types, names []string) ([]quota, error) {
	if len(names) > len(types) {
		return nil, illegal("More entity names specified than entity types")
	}
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	// Strict leaves out entities that have more types: the quotas of a user are not those of the user's client ids.
	req.Strict = true
	for i, kind := range types {
		component := kmsg.NewDescribeClientQuotasRequestComponent()
		component.EntityType = quotaEntity[kind].api
		switch {
		case i >= len(names):
			component.MatchType = matchAny
		case names[i] == "":
			component.MatchType = matchDefault
		default:
			component.MatchType, component.Match = matchExact, &names[i]
		}
		req.Components = append(req.Components, component)
	}
	resp, err := connection.Ask(ctx, c.admin, "describeClientQuotas", req.RequestWith)
	if err != nil {
		return nil, err
	}
	if err := kafkatext.Answer(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return nil, err
	}
	var found []quota
	for _, e := range resp.Entries {
		found = append(found, quota{e.Entity, e.Values})
	}
	return found, nil
}

// quotaKeys are the quotas of users and clients, and of addresses.
var (
	quotaKeys = []string{"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
	ipKeys    = []string{"connection_creation_rate"}
)

// alterQuotas alters quotas or credentials, never both: they are two requests, and the second could fail alone.
func (c *command) alterQuotas(ctx context.Context, types, names []string, set kafkatext.Properties, unset []string) error {
	added := slices.Sorted(maps.Keys(set))
	if types[0] == ips {
		if others := without(append(added, unset...), ipKeys); len(others) > 0 {
			return illegal("Only connection quota configs can be added for 'ips' using --bootstrap-server. Unexpected config names: %s",
				strings.Join(others, ","))
		}
		return c.sendQuotas(ctx, types, names, set, unset)
	}
	// The script prints the Scala collections that it holds the names in.
	for _, change := range []struct {
		verb, collection string
		keys             []string
	}{{"added", "Set", added}, {"deleted", "ArrayBuffer", unset}} {
		unknown := without(change.keys, quotaKeys)
		what := "quota"
		if types[0] == users && len(types) == 1 {
			unknown, what = slices.DeleteFunc(unknown, isScram), "quota and SCRAM credential"
		}
		if len(unknown) > 0 {
			return illegal("Only %s configs can be %s for '%s' using --bootstrap-server. Unexpected config names: %s(%s)",
				what, change.verb, kindOf(types), change.collection, strings.Join(unknown, ", "))
		}
	}
	keys := append(added, unset...)
	credentials := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !isScram(k) })
	switch {
	case len(credentials) == 0:
		return c.sendQuotas(ctx, types, names, set, unset)
	case slices.Contains(names, ""):
		return illegal("The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using --bootstrap-server.")
	case len(credentials) < len(keys):
		return illegal("Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server.")
	}
	return c.alterCredentials(ctx, names[0], set, unset)
}

// kindOf is the type that decides what may be altered: with both given, that of clients.
func kindOf(types []string) string {
	if slices.Contains(types, clients) {
		return clients
	}
	return types[0]
}

// without gives the keys that are not known, in their order: messages name them so.
func without(keys, known []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(known, k) })
}

// sendQuotas alters the quotas of one entity. A quota that is not set cannot be unset.
func (c *command) sendQuotas(ctx context.Context, types, names []string, set kafkatext.Properties, unset []string) error {
	have, err := c.quotas(ctx, types, names)
	if err != nil {
		return err
	}
	var missing []string
	for _, key := range unset {
		if len(have) == 0 || !slices.ContainsFunc(have[0].values, func(v kmsg.DescribeClientQuotasResponseEntryValue) bool { return v.Key == key }) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return illegal("Invalid config(s): %s", strings.Join(missing, ","))
	}
	change := kmsg.NewAlterClientQuotasRequestEntry()
	for i, kind := range types {
		e := kmsg.NewAlterClientQuotasRequestEntryEntity()
		e.Type = quotaEntity[kind].api
		if names[i] != "" {
			e.Name = &names[i]
		}
		change.Entity = append(change.Entity, e)
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		// Quotas are doubles on the wire, also those that count whole bytes.
		value, err := strconv.ParseFloat(set[key], 64)
		if err != nil {
			return illegal("Cannot parse quota configuration value for %s: %s", key, set[key])
		}
		change.Ops = append(change.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: value})
	}
	for _, key := range unset {
		change.Ops = append(change.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Remove: true})
	}
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Entries = append(req.Entries, change)
	resp, err := connection.Ask(ctx, c.admin, "alterClientQuotas", req.RequestWith)
	if err != nil {
		return err
	}
	for _, e := range resp.Entries {
		if err := kafkatext.Answer(e.ErrorCode, e.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}
