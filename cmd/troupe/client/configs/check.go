package configs

import (
	"net"
	"slices"
	"strings"

	"troupe/cmd/troupe/client/option"
)

// check refuses combinations of options, in the script's order.
func (c *command) check(types, names []string) error {
	if option.Count(c.fs, "alter", "describe") != 1 {
		return option.Fail("Command must include exactly one action: --describe, --alter")
	}
	if err := option.Exclude(c.fs, "describe", "alter", "add-config", "delete-config"); err != nil {
		return err
	}
	// --topic and --entity-type topics name the same type twice.
	if again := repeated(types); len(again) > 0 {
		return illegal("Duplicate entity type(s) specified: %s", strings.Join(again, ","))
	}
	if option.Count(c.fs, "bootstrap-server", "bootstrap-controller") == 0 {
		return illegal("Either --bootstrap-server or --bootstrap-controller must be specified.")
	}
	for _, t := range types {
		if !slices.Contains(entityTypes, t) {
			return illegal("Invalid entity type %s, the entity type must be one of %s with a --bootstrap-server or "+
				"--bootstrap-controller argument", t, strings.Join(entityTypes, ", "))
		}
	}
	switch {
	case len(types) == 0:
		return illegal("At least one entity type must be specified")
	// A quota may hold for a client id of a user; no other two types go together.
	case len(types) > 1 && (len(types) != 2 || !slices.Contains(types, users) || !slices.Contains(types, clients)):
		return illegal("Only 'users' and 'clients' entity types may be specified together")
	}
	if option.Count(c.fs, "entity-name", "entity-type", "entity-default") > 0 {
		for _, s := range c.shortcuts() {
			if c.fs.Changed(s.flag) {
				return illegal("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
			}
		}
	}
	if option.Count(c.fs, "bootstrap-server", "bootstrap-controller") > 1 {
		return illegal("Only one of --bootstrap-server or --bootstrap-controller can be specified")
	}
	if err := checkNames(types, names); err != nil {
		return err
	}
	if c.fs.Changed("describe") {
		return c.checkDescribe(types, names)
	}
	return c.checkAlter(types, names)
}

// checkNames refuses broker ids that are no numbers and addresses that do not resolve. The default entity has no name
// that could be wrong.
func checkNames(types, names []string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		if slices.Contains(types, brokers) || slices.Contains(types, loggers) {
			if _, ok := brokerID(name); !ok {
				return illegal("The entity name for %s must be a valid integer broker id, but it is: %s", types[0], name)
			}
		}
		if slices.Contains(types, ips) {
			if _, err := net.LookupHost(name); err != nil {
				return illegal("The entity name for %s must be a valid IP or resolvable host, but it is: %s", types[0], name)
			}
		}
	}
	return nil
}

// hasDefault tells whether a type may be described or altered as a whole.
func hasDefault(types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return t == users || t == clients || t == brokers || t == ips })
}

// named tells whether any entity is named: "" is the default entity.
func named(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n != "" })
}

// checkDescribe lets --describe go without a name, which shows every entity of the type. Loggers belong to one broker.
func (c *command) checkDescribe(types, names []string) error {
	if !hasDefault(types) && c.fs.Changed("entity-default") {
		return illegal("--entity-default must not be specified with --describe of %s", strings.Join(types, ","))
	}
	if slices.Contains(types, loggers) && !named(names) {
		return illegal("An entity name must be specified with --describe of %s", strings.Join(types, ","))
	}
	return nil
}

// checkAlter wants to know exactly what to change, and one source of what to set.
func (c *command) checkAlter(types, names []string) error {
	switch {
	case hasDefault(types) && len(names) == 0:
		return illegal("An entity-name or default entity must be specified with --alter of users, clients, brokers or ips")
	case !hasDefault(types) && !named(names):
		return illegal("An entity name must be specified with --alter of %s", strings.Join(types, ","))
	case c.addConfig.Given() && c.addConfigFile.Given():
		return illegal("Only one of --add-config or --add-config-file must be specified")
	case !c.addConfig.Given() && !c.addConfigFile.Given() && !c.delete.Given():
		return illegal("At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter")
	}
	return nil
}

// repeated gives every occurrence after the first of what occurs more than once.
func repeated(list []string) []string {
	var again []string
	for i, e := range list {
		if slices.Contains(list[:i], e) {
			again = append(again, e)
		}
	}
	return again
}
