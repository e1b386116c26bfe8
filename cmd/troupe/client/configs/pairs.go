package configs

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"troupe/cmd/troupe/client/kafkatext"
)

// additions reads --add-config-file or --add-config, of which check lets one through.
func (c *command) additions() (kafkatext.Properties, error) {
	props := kafkatext.Properties{}
	path, err := c.addConfigFile.One()
	if err != nil {
		return nil, plain{err}
	}
	if path != "" {
		if props, err = kafkatext.Load(path); err != nil {
			return nil, err
		}
	}
	text, err := c.addConfig.One()
	if err != nil {
		return nil, plain{err}
	}
	if c.addConfig.Given() {
		if props, err = parsePairs(text); err != nil {
			return nil, err
		}
	}
	// Sorted, so that the same mistake gives the same message each time.
	for _, key := range slices.Sorted(maps.Keys(props)) {
		if !keyPattern.MatchString(key) {
			return nil, illegal("Invalid character found for config key: %s", key)
		}
	}
	return props, nil
}

// keyPattern is what the script lets through as a key before it asks the cluster; names of loggers are keys, too.
var keyPattern = regexp.MustCompile(`^[$a-zA-Z0-9._-]*$`)

// parsePairs splits at commas and then at equals signs, but at neither inside square brackets, which it drops.
func parsePairs(text string) (kafkatext.Properties, error) {
	props := kafkatext.Properties{}
	pairs := splitOutside(text, ',')
	for len(pairs) > 1 && pairs[len(pairs)-1] == "" { // as Java's split
		pairs = pairs[:len(pairs)-1]
	}
	for _, pair := range pairs {
		parts := splitOutside(pair, '=')
		if len(parts) != 2 {
			return nil, illegal("requirement failed: Invalid entity config: all configs to be added must be in the format " +
				`"key=val" or  "key=[val1,val2]" to group values which contain commas.`)
		}
		value := strings.NewReplacer("[", "", "]", "").Replace(parts[1])
		props[strings.TrimSpace(parts[0])] = strings.TrimSpace(value)
	}
	return props, nil
}

// splitOutside splits at each separator that no closing bracket follows before an opening one.
func splitOutside(s string, separator byte) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		if s[i] != separator {
			continue
		}
		rest := s[i+1:]
		closing := strings.IndexByte(rest, ']')
		opening := strings.IndexByte(rest, '[')
		if closing < 0 || opening >= 0 && opening < closing {
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// deletions reads --delete-config: keys apart by commas, over all occurrences.
func (c *command) deletions() []string {
	var keys []string
	for _, text := range c.delete.All() {
		for _, key := range strings.Split(text, ",") {
			keys = append(keys, strings.TrimSpace(key))
		}
	}
	return keys
}
