package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads Kafka's keys, flat or nested, or in any mixture:
//
//	log.retention.hours: 168      log: {retention: {hours: 168}}      log.retention: {hours: 168}
//
// Values keep their text: 010 is not turned into 8, nor "no" into false. A sequence is a list; null leaves the default.
// The nodes are read directly, since errors name the line.
func parseYAML(file string, content []byte) (settings, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return settings{}, nil
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	y := yamlFile{file, settings{}}
	if root := document.Content[0]; root.Tag != "!!null" {
		if root.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s: expected keys and values", y.at(root))
		}
		if err := y.mapping("", root); err != nil {
			return nil, err
		}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: expected one document", file)
	}
	return y.all, nil
}

// yamlFile gathers the settings of one file while its nodes are walked.
type yamlFile struct {
	name string
	all  settings
}

func (y yamlFile) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", y.name, n.Line) }

// mapping joins the names on the way to a value with dots.
func (y yamlFile) mapping(prefix string, n *yaml.Node) error {
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return fmt.Errorf("%s: expected a plain key", y.at(key))
		}
		if err := y.value(prefix+key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// value takes a key's value, or goes down into a mapping: "log: {retention: {hours: 1}}" and "log.retention.hours: 1" are
// one. A list is joined as in a server.properties. Aliases are refused, since an error could not say where a value stands.
func (y yamlFile) value(key string, n *yaml.Node) error {
	var text string
	switch n.Kind {
	case yaml.MappingNode:
		return y.mapping(key+".", n)
	case yaml.SequenceNode:
		elements := make([]string, 0, len(n.Content))
		for _, element := range n.Content {
			if element.Kind != yaml.ScalarNode {
				return fmt.Errorf("%s: %s: expected a list of plain values", y.at(element), key)
			}
			elements = append(elements, element.Value)
		}
		text = strings.Join(elements, ",")
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil
		}
		text = strings.TrimSpace(n.Value)
	default:
		return fmt.Errorf("%s: %s: expected a value, not an alias", y.at(n), key)
	}
	if before, twice := y.all[key]; twice {
		return fmt.Errorf("%s: %s=%s is set again, after %s at %s", y.at(n), key, text, before.value, before.origin)
	}
	y.all[key] = setting{value: text, origin: y.at(n)}
	return nil
}

// plainScalar is a text that YAML reads as it stands, whatever it makes of other texts.
var plainScalar = regexp.MustCompile(`^[A-Za-z0-9/.][A-Za-z0-9/._:,@-]*$`)

// YAML writes values by key in the form that a file of --config has.
func YAML(values map[string]string) []byte {
	var out bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text := values[key]
		if !plainScalar.MatchString(text) || strings.HasSuffix(text, ":") || strings.EqualFold(text, "null") {
			text = strconv.Quote(text)
		}
		fmt.Fprintf(&out, "%s: %s\n", key, text)
	}
	return out.Bytes()
}
