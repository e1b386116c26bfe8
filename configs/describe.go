package configs

// Source says where a value comes from; the numbers are those of DescribeConfigs.
type Source int8

// The sources, strongest first.
const (
	TopicSource          Source = 1
	DynamicBrokerSource  Source = 2
	DynamicDefaultSource Source = 3
	StaticSource         Source = 4
	DefaultSource        Source = 5
)

// Synonym is one of the places a value could come from. Value is nil when it is sensitive.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Entry is one key of a DescribeConfigs reply. Value is nil for null and for sensitive keys.
type Entry struct {
	Name      string
	Value     *string
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Type      Type // 0 for keys that are not known
	Doc       string
	Synonyms  []Synonym
}

// DescribeTopic lists a topic's configuration, sorted by name; no names means all, unknown ones are left out.
func (l Layers) DescribeTopic(overrides map[string]string, names []string) []Entry { return nil }

// DescribeBroker lists this broker's configuration in the same way.
func (l Layers) DescribeBroker(names []string) []Entry { return nil }

// DescribeDefaults lists what is set for all brokers (the broker resource without a name).
func (l Layers) DescribeDefaults(names []string) []Entry { return nil }
