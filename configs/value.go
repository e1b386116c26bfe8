package configs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"troupe/internal/javatext"
)

// ValueError is a value that its key does not take. Its text is Kafka's.
type ValueError struct {
	Key   string
	Value string
	Want  string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", e.Value, e.Key, e.Want)
}

// parse reads a value by the key's type and checks it by the key's rule. It gives a bool, string, int64, float64 or
// []string; the elements of a list are there once, in the order of the text.
func (k Key) parse(text string) (any, error) {
	v, want := k.Type.parse(text)
	if want != "" {
		return nil, &ValueError{k.Name, strings.TrimSpace(text), want}
	}
	if k.Valid.check == nil {
		return v, nil
	}
	if c := k.Valid.check(v); c.want != "" {
		return nil, &ValueError{k.Name, display(c.offender), c.want}
	}
	return v, nil
}

// parse reads a value by its type alone; want is what was expected, in Kafka's words, when it does not fit. Blanks round
// a value are dropped for every type but texts, and numbers are decimal with an optional sign, as Java's are.
func (t Type) parse(text string) (v any, want string) {
	trimmed := strings.TrimSpace(text)
	switch t {
	case Boolean:
		if strings.EqualFold(trimmed, "true") || strings.EqualFold(trimmed, "false") {
			return strings.EqualFold(trimmed, "true"), ""
		}
		return nil, "Expected value to be either true or false"
	case Short, Int, Long:
		bits := map[Type]int{Short: 16, Int: 32, Long: 64}[t]
		n, err := strconv.ParseInt(trimmed, 10, bits)
		if err != nil {
			return nil, "Not a number of type " + t.javaName()
		}
		return n, ""
	case Double:
		f, err := strconv.ParseFloat(trimmed, 64)
		if err != nil || math.IsNaN(f) {
			return nil, "Not a number of type " + t.javaName()
		}
		return f, ""
	case List:
		return splitList(trimmed), ""
	}
	return text, ""
}

// javaName is the type as Kafka's complaints and documentation call it.
func (t Type) javaName() string {
	return map[Type]string{Boolean: "BOOLEAN", String: "STRING", Int: "INT", Short: "SHORT", Long: "LONG", Double: "DOUBLE",
		List: "LIST", Class: "CLASS", Password: "PASSWORD"}[t]
}

// splitList splits at commas; an empty text has no elements, and an empty element between commas is one. It leaves out repeats, as Kafka 4.2 and later do.
func splitList(text string) []string {
	list := []string{}
	if text == "" {
		return list
	}
	seen := make(map[string]bool)
	for element := range strings.SplitSeq(text, ",") {
		if element = strings.TrimSpace(element); !seen[element] {
			seen[element] = true
			list = append(list, element)
		}
	}
	return list
}

// shown is the text of a parsed value as DescribeConfigs gives it.
func shown(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, ",")
	}
	return display(v)
}

// display is Java's text of a value, as complaints give it.
func display(v any) string {
	switch v := v.(type) {
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case float64:
		return javatext.Double(v, 64)
	}
	return fmt.Sprint(v)
}
