package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Options says what Load reads. Environment has the form of os.Environ, Set that of --set: key=value.
type Options struct {
	File string // YAML (.yaml, .yml), else a server.properties; empty takes the embedded default
	// Defaults hold where no source says otherwise. Where they are given there is no embedded default.
	Defaults    map[string]string
	Environment []string
	Set         []string
	DataDir     string // where the embedded default keeps data; empty takes the user's data directory
	Hostname    string // advertised by listeners on every address; empty asks the system
}

// Unused is a key that was set and has no effect. AsDefault tells that its value is Kafka's default, as in the files that
// Kafka ships: nobody asked for anything else.
type Unused struct {
	Key       string
	Origin    string
	Reason    string
	AsDefault bool
}

// Loaded is the outcome of Load. Embedded tells that no file was given.
type Loaded struct {
	Broker   Broker
	Layers   Layers
	Unused   []Unused
	Embedded bool
}

// setting is a value and where it stands: "file:line", a variable, --set, or the embedded default. One that another name
// of the key brought is checked under that name alone.
type setting struct {
	value  string
	origin string
	copied bool
}

// settings are by key. A later source replaces what an earlier one set.
type settings map[string]setting

const embedded = "the embedded default"

// Load reads the static configuration: the file or the embedded default, over it the environment, over that --set.
// Its error holds every mistake found; each names the key, the value, where it stands and what was expected.
func Load(o Options) (*Loaded, error) {
	all, err := o.read()
	if err := errors.Join(err, all.check()); err != nil {
		return nil, err
	}
	out := &Loaded{Layers: Layers{Static: map[string]string{}, Hostname: o.Hostname}, Embedded: o.embedded()}
	for key, s := range all {
		out.Layers.Static[key] = s.value
	}
	if o.Hostname == "" {
		out.Layers.Hostname, _ = os.Hostname() // without a name of its own the machine is localhost
	}
	out.Broker, err = out.Layers.Resolve()
	if err != nil {
		return nil, all.located(err)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if k := brokerKeys()[key]; k.Effect == Accepted && all[key].origin != embedded {
			out.Unused = append(out.Unused, Unused{key, all[key].origin, k.Reason, !k.Null && all[key].value == k.Default})
		}
	}
	return out, nil
}

// read gathers the sources from the weakest on. All are read even when one is broken, and what could be read is given
// beside the error, so that one attempt shows every mistake.
func (o Options) read() (settings, error) {
	all := settings{}
	var errs []error
	for _, source := range []func() (settings, error){o.readDefaults, o.readFile, o.readEnvironment, o.readSet} {
		found, err := source()
		errs = append(errs, err)
		maps.Copy(all, found)
	}
	if o.embedded() {
		errs = append(errs, all.addDataDir(o.DataDir))
	}
	all.alias("broker.id", "node.id")
	return all, errors.Join(errs...)
}

// embedded tells whether nothing says what node this is to be.
func (o Options) embedded() bool { return o.File == "" && o.Defaults == nil }

// readDefaults gives the weakest source. A key without effect is left out: nobody asked for it.
func (o Options) readDefaults() (settings, error) {
	if o.embedded() {
		return embeddedDefault(), nil
	}
	found := settings{}
	for key, value := range o.Defaults {
		if brokerKeys()[key].Effect == Acts {
			found[key] = setting{value: value, origin: "default of the command"}
		}
	}
	return found, nil
}

// readFile goes by the file's name: YAML has two endings, and a server.properties may be called anything.
func (o Options) readFile() (settings, error) {
	if o.File == "" {
		return nil, nil
	}
	content, err := os.ReadFile(o.File)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if strings.HasSuffix(o.File, ".yaml") || strings.HasSuffix(o.File, ".yml") {
		return parseYAML(o.File, content)
	}
	return parseProperties(o.File, content)
}

// readEnvironment takes TROUPE_LOG_RETENTION_HOURS for log.retention.hours. A variable with the prefix that names no
// key is a mistake, as it would be in a file.
func (o Options) readEnvironment() (settings, error) {
	const prefix = "TROUPE_"
	found := settings{}
	var errs []error
	for _, pair := range o.Environment {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, prefix) || serviceLink(name, value) {
			continue
		}
		key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", ".")
		if _, known := brokerKeys()[key]; !known {
			errs = append(errs, fmt.Errorf("environment: %s=%s stands for the key %s, which is not known%s", name, value, key, suggestion(key)))
			continue
		}
		found[key] = setting{value: value, origin: "environment: " + name}
	}
	return found, errors.Join(errs...)
}

// serviceLink tells the variables that Kubernetes, and Docker before it, set in every container for a service of the name
// "troupe": TROUPE_SERVICE_HOST, TROUPE_SERVICE_PORT_KAFKA, TROUPE_PORT=tcp://…, TROUPE_PORT_9092_TCP_ADDR. No key begins so.
func serviceLink(name, value string) bool {
	return strings.HasPrefix(name, "TROUPE_SERVICE_") || strings.HasPrefix(name, "TROUPE_PORT_") ||
		name == "TROUPE_PORT" && strings.Contains(value, "://")
}

// readSet takes the last of several values of a key, as command lines do.
func (o Options) readSet() (settings, error) {
	found := settings{}
	var errs []error
	for _, pair := range o.Set {
		key, value, ok := strings.Cut(pair, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			errs = append(errs, fmt.Errorf("--set %s: expected key=value", pair))
			continue
		}
		found[key] = setting{value: strings.TrimSpace(value), origin: "--set"}
	}
	return found, errors.Join(errs...)
}

// alias gives a key the value of its older name, when only that is set; when both are, Resolve compares them. Kafka
// shows both.
func (s settings) alias(older, key string) {
	old, has := s[older]
	if now, set := s[key]; has && (!set || now.origin == embedded) {
		s[key] = setting{old.value, old.origin, true}
	} else if set && !has {
		s[older] = setting{now.value, now.origin, true}
	}
}

// check looks at every setting by itself, in the order in which they stand in the file.
func (s settings) check() error {
	var errs []error
	keys := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		fileA, lineA := place(s[a].origin)
		fileB, lineB := place(s[b].origin)
		return cmp.Or(strings.Compare(fileA, fileB), cmp.Compare(lineA, lineB), strings.Compare(a, b))
	})
	for _, key := range keys {
		if s[key].copied {
			continue
		}
		if err := s.checkOne(key); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// place takes "file:line" apart; what is no file has line 0.
func place(origin string) (string, int) {
	i := strings.LastIndexByte(origin, ':')
	if line, err := strconv.Atoi(origin[i+1:]); err == nil {
		return origin[:max(i, 0)], line
	}
	return origin, 0
}

// checkOne names an unknown key before anything else is said of it: its value may be fine for the key that was meant.
func (s settings) checkOne(name string) error {
	value, origin := s[name].value, s[name].origin
	if base, override := listenerOverride(name); override {
		return fmt.Errorf("%s: %s=%s: settings of a single listener are not available; set %s for all of them", origin, name, value, base)
	}
	key, known := brokerKeys()[name]
	if !known {
		return fmt.Errorf("%s: %s=%s: the key is not known%s", origin, name, value, suggestion(name))
	}
	if err := key.admit(value); err != nil {
		if key.Effect == Refused {
			return fmt.Errorf("%s: %w", origin, err)
		}
		return fmt.Errorf("%s: %w; expected %s", origin, err, key.expectation())
	}
	return nil
}

// located puts where the value stands before an error of Resolve.
func (s settings) located(err error) error {
	var together *SettingError
	if !errors.As(err, &together) {
		return err
	}
	if at, set := s[together.Key]; set {
		return fmt.Errorf("%s: %w", at.origin, err)
	}
	if together.Value == "" { // what is not set anywhere stands nowhere
		return err
	}
	return fmt.Errorf("default of %w", err)
}
