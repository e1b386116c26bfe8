package configs

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// AlterBroker applies changes to the dynamic configuration of this broker and gives the new one.
func (l Layers) AlterBroker(changes []Change) (map[string]string, error) {
	return l.alter(l.Broker, changes, false)
}

// AlterDefaults applies changes to the dynamic configuration of all brokers.
func (l Layers) AlterDefaults(changes []Change) (map[string]string, error) {
	return l.alter(l.Default, changes, true)
}

// alter is the two of them: all tells whether the change is for every broker, which some keys do not allow.
func (l Layers) alter(current map[string]string, changes []Change, all bool) (map[string]string, error) {
	if err := sensible(changes); err != nil {
		return nil, err
	}
	next := cloned(current)
	for _, c := range changes {
		key := brokerKeys()[c.Key]
		if key.Type != List && (c.Op == Append || c.Op == Subtract) {
			name := map[Op]string{Append: "append", Subtract: "subtract"}[c.Op]
			return nil, invalidConfig("Config value %s is not allowed for config key: %s", name, c.Key)
		}
		apply(next, c, key.Default)
	}
	return next, l.CheckBroker(next, all)
}

// CheckBroker checks a whole dynamic configuration of this broker, or with all that of all brokers. It lets through
// what no table knows, as Kafka does, where it may be a plugin's.
func (l Layers) CheckBroker(values map[string]string, all bool) error {
	names := slices.Sorted(maps.Keys(values))
	if bad := modes(names, func(k Key) bool { return k.Mode == ReadOnly }); bad != "" {
		return invalidRequest("Cannot update these configs dynamically: [%s]", bad)
	}
	if bad := modes(names, func(k Key) bool { return all && k.Mode == PerBroker }); bad != "" {
		return invalidRequest("Cannot update these configs at default cluster level, broker id must be specified: [%s]", bad)
	}
	for _, name := range names {
		// Refused and not let through as a plugin's: the prefix is Kafka's own, and acts there.
		if base, override := listenerOverride(name); override {
			return invalidRequest("%s: settings of a single listener are not available; set %s for all of them", name, base)
		}
		key, known := brokerKeys()[name]
		if !known {
			continue
		}
		if key.Mode == PerBroker && name != cordonedKey {
			return invalidRequest("%s cannot be changed while the broker runs; set it where the broker is started from", name)
		}
		if err := key.admit(values[name]); err != nil {
			return invalidRequest("%v", err)
		}
	}
	return l.resolvable(values, all)
}

// resolvable tries the new values in place, for what only shows when keys meet, such as listeners.
func (l Layers) resolvable(values map[string]string, all bool) error {
	if all {
		l.Default = values
	} else {
		l.Broker = values
	}
	_, err := l.Resolve()
	// Errors of single values were found above, each with Kafka's text.
	var bad *SettingError
	if errors.As(err, &bad) {
		return invalidRequest("%s=%s: %s", bad.Key, bad.Value, bad.Want)
	}
	return nil
}

// modes lists the known names that a condition holds for, as Kafka lists them in an error.
func modes(names []string, bad func(Key) bool) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		k, known := brokerKeys()[n]
		return !known || !bad(k)
	}), ", ")
}

// listenerOverride splits listener.name.NAME.KEY; in Kafka it sets a key for one listener.
func listenerOverride(name string) (base string, found bool) {
	rest, found := strings.CutPrefix(name, "listener.name.")
	if !found {
		return "", false
	}
	_, base, found = strings.Cut(rest, ".")
	return base, found
}
