package configs

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/internal/model"
)

// resource is what the APIs call an entity type, and where the configs that were set on it come from.
type resource struct {
	kind    kmsg.ConfigResourceType
	dynamic kmsg.ConfigSource // 0: all sources
}

func resourceOf(entityType, name string) resource {
	switch entityType {
	case topics:
		return resource{kmsg.ConfigResourceTypeTopic, kmsg.ConfigSourceDynamicTopicConfig}
	case loggers:
		return resource{kmsg.ConfigResourceTypeBrokerLogger, 0}
	case clientMetrics:
		return resource{kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigSourceClientMetricsConfig}
	case groups:
		return resource{kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigSourceGroupConfig}
	}
	// Without a name it is the default of all brokers, whose own source tells it from that of one broker (KIP-226).
	if name == "" {
		return resource{kmsg.ConfigResourceTypeBroker, kmsg.ConfigSourceDynamicDefaultBrokerConfig}
	}
	return resource{kmsg.ConfigResourceTypeBroker, kmsg.ConfigSourceDynamicBrokerConfig}
}

// sources are the names Kafka prints for the sources of a config.
var sources = map[kmsg.ConfigSource]string{
	0: "UNKNOWN", 1: "DYNAMIC_TOPIC_CONFIG", 2: "DYNAMIC_BROKER_CONFIG", 3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
	4: "STATIC_BROKER_CONFIG", 5: "DEFAULT_CONFIG", 6: "DYNAMIC_BROKER_LOGGER_CONFIG",
	7: "DYNAMIC_CLIENT_METRICS_CONFIG", 8: "DYNAMIC_GROUP_CONFIG",
}

// entry is one config as --describe shows it.
type entry struct {
	Name      string    `json:"name"`
	Value     *string   `json:"value"`
	Source    string    `json:"source"`
	Sensitive bool      `json:"sensitive"`
	ReadOnly  bool      `json:"readOnly"`
	Synonyms  []synonym `json:"synonyms"`
}

// synonym is a config that would give the value if those before it were unset, in falling precedence (KIP-226).
type synonym struct {
	Source string  `json:"source"`
	Name   string  `json:"name"`
	Value  *string `json:"value"`
}

// String gives the script's line, without its indent.
func (e entry) String() string {
	words := make([]string, len(e.Synonyms))
	for i, s := range e.Synonyms {
		words[i] = s.Source + ":" + s.Name + "=" + orNull(s.Value)
	}
	return fmt.Sprintf("%s=%s sensitive=%t synonyms={%s}", e.Name, orNull(e.Value), e.Sensitive, strings.Join(words, ", "))
}

// orNull shows what Java prints for a null: sensitive values are never sent.
func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// fetch asks for the configs of one entity, sorted by name; without all, only those set on it.
func (c *command) fetch(ctx context.Context, entityType, name string, all bool) ([]entry, error) {
	if entityType == topics {
		if err := validateTopic(name); err != nil {
			return nil, err
		}
	}
	target := resourceOf(entityType, name)
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms = true
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = target.kind, name
	req.Resources = append(req.Resources, r)
	resp, err := connection.Ask(ctx, c.admin, "describeConfigs", req.RequestWith)
	if err != nil {
		return nil, err
	}
	entries := []entry{}
	for _, r := range resp.Resources {
		if err := kafkatext.Answer(r.ErrorCode, r.ErrorMessage); err != nil {
			return nil, err
		}
		for _, config := range r.Configs {
			// Topics answer with defaults and the broker's values as well; without --all what was set on the entity is shown.
			if !all && target.dynamic != 0 && config.Source != target.dynamic {
				continue
			}
			e := entry{config.Name, config.Value, sources[config.Source], config.IsSensitive, config.ReadOnly, []synonym{}}
			for _, s := range config.ConfigSynonyms {
				e.Synonyms = append(e.Synonyms, synonym{sources[s.Source], s.Name, s.Value})
			}
			entries = append(entries, e)
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return entries, nil
}

// validateTopic refuses a topic name on the client's side, as the script does.
func validateTopic(name string) error {
	if why := model.TopicNameFault(name); why != "" {
		return illegal("Topic name is invalid: %s", why)
	}
	return nil
}
