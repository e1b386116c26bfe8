package kafkatext

import (
	"fmt"
	"regexp"
	"strings"
)

// TopicFilter is a list of topic patterns: regular expressions apart by commas, each matching whole names.
type TopicFilter struct{ pattern *regexp.Regexp }

// NewTopicFilter compiles a filter; blanks are dropped and quotes round it, which property files may bring, too.
func NewTopicFilter(raw string) (TopicFilter, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(raw), ",", "|"), " ", "")
	text = strings.TrimRight(strings.TrimLeft(text, `"'`), `"'`)
	// Go's expressions lack look-around and back-references, which names of topics have no use for.
	pattern, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return TopicFilter{}, fmt.Errorf("%s is an invalid regex.", text)
	}
	return TopicFilter{pattern}, nil
}

// Matches tells whether a topic's whole name matches.
func (f TopicFilter) Matches(topic string) bool { return f.pattern.MatchString(topic) }
