package configs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// alter changes one entity. Quotas have requests of their own (KIP-546); everything else is a resource with configs,
// changed incrementally (KIP-339), so that two administrators do not undo one another's keys.
func (c *command) alter(ctx context.Context, types, names []string) error {
	set, err := c.additions()
	if err != nil {
		return err
	}
	unset := c.deletions()
	kind, name := types[0], names[0]
	switch kind {
	case users, clients, ips:
		err = c.alterQuotas(ctx, types, names, set, unset)
	// The broker would refuse an unknown logger as well, but the script names all of them at once.
	case loggers:
		if err = c.checkLoggers(ctx, name, set, unset); err == nil {
			err = c.alterResource(ctx, kind, name, set, unset)
		}
	default:
		err = c.alterResource(ctx, kind, name, set, unset)
	}
	switch {
	case err != nil:
		return err
	case option.JSON(c.fs):
		return option.WriteJSON(c.streams, map[string]any{"entityType": kind, "entityName": name, "set": set, "unset": unset})
	case name != "":
		fmt.Fprintf(c.streams.Out, "Completed updating config for %s %s.\n", kind[:len(kind)-1], name)
	default:
		fmt.Fprintf(c.streams.Out, "Completed updating default config for %s in the cluster.\n", kind)
	}
	return nil
}

// checkLoggers refuses loggers the broker does not have.
func (c *command) checkLoggers(ctx context.Context, name string, set kafkatext.Properties, unset []string) error {
	entries, err := c.fetch(ctx, loggers, name, false)
	if err != nil {
		return err
	}
	var unknown []string
	for _, key := range append(slices.Clone(unset), slices.Sorted(maps.Keys(set))...) {
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.Name == key }) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		return illegal("Invalid broker logger(s): %s", strings.Join(unknown, ","))
	}
	return nil
}

// alterResource sends one incremental change, deletions first.
func (c *command) alterResource(ctx context.Context, kind, name string, set kafkatext.Properties, unset []string) error {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = resourceOf(kind, name).kind, name
	for _, key := range unset {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Op, config.Value = key, kmsg.IncrementalAlterConfigOpDelete, kmsg.StringPtr("")
		r.Configs = append(r.Configs, config)
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Op, config.Value = key, kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(set[key])
		r.Configs = append(r.Configs, config)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	resp, err := connection.Ask(ctx, c.admin, "incrementalAlterConfigs", req.RequestWith)
	// No fallback to the older AlterConfigs: it replaces all keys of a resource, and those not named here would be lost.
	if connection.Unsupported(err) {
		return illegal("The INCREMENTAL_ALTER_CONFIGS API is not supported by the cluster. The API is supported starting from version 2.3.0." +
			" You may want to use an older version of this tool to interact with your cluster, or upgrade your brokers to version 2.3.0 or newer to avoid this error.")
	}
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := kafkatext.Answer(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}
