package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rule is what a key asks of a parsed value beyond its type. The zero Rule asks nothing. Its complaints are worded as
// Kafka 4.3.1 words them, since tools print them.
type Rule struct {
	text  string // what is valid, for documentation
	check func(v any) complaint
}

// complaint says what is wrong with a value; the zero complaint is none. Offender is the element of a list that is
// wrong, or the whole value.
type complaint struct {
	offender any
	want     string
}

// atLeast compares as float64: the bounds in the tables are small enough to be exact, and a value that is rounded is
// far from them.
func atLeast(least float64) Rule {
	return Rule{"at least " + number(least), func(v any) complaint {
		if asNumber(v) < least {
			return complaint{v, "Value must be at least " + number(least)}
		}
		return complaint{}
	}}
}

// between complains of the bound that is passed, as Kafka's range does.
func between(least, most float64) Rule {
	return Rule{number(least) + " to " + number(most), func(v any) complaint {
		if c := atLeast(least).check(v); c.want != "" {
			return c
		}
		if asNumber(v) > most {
			return complaint{v, "Value must be no more than " + number(most)}
		}
		return complaint{}
	}}
}

// betweenOr allows one number beside a range, such as gzip's "default level".
func betweenOr(least, most, other float64) Rule {
	return Rule{fmt.Sprintf("%s to %s, or %s", number(least), number(most), number(other)), func(v any) complaint {
		if n := asNumber(v); (n < least || n > most) && n != other {
			return complaint{v, fmt.Sprintf("Value must be between %s and %s or equal to %s", number(least), number(most), number(other))}
		}
		return complaint{}
	}}
}

func oneOf(valid ...string) Rule {
	return Rule{"one of " + strings.Join(valid, ", "), func(v any) complaint { return among(valid, v.(string)) }}
}

func oneOfAnyCase(valid ...string) Rule {
	return Rule{"one of " + strings.Join(valid, ", ") + " in any case", func(v any) complaint {
		return among(valid, strings.ToUpper(v.(string)))
	}}
}

// listOf judges each element and names the one that is wrong, not the list.
func listOf(valid ...string) Rule {
	return Rule{"list of " + strings.Join(valid, ", "), func(v any) complaint {
		for _, element := range v.([]string) {
			if c := among(valid, element); c.want != "" {
				return c
			}
		}
		return complaint{}
	}}
}

func among(valid []string, v string) complaint {
	if slices.Contains(valid, v) {
		return complaint{}
	}
	return complaint{v, "String must be one of: " + strings.Join(valid, ", ")}
}

var notEmpty = Rule{"not empty", func(v any) complaint {
	if strings.TrimSpace(v.(string)) == "" {
		return complaint{v, "String must be non-empty"}
	}
	return complaint{}
}}

var oneReplica = regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)

// throttled is the form of the lists of throttled replicas (KIP-73). Kafka's complaint names the key twice.
func throttled(key string) Rule {
	return Rule{"* or list of PARTITION:BROKER", func(v any) complaint {
		replicas := v.([]string)
		if slices.Equal(replicas, []string{"*"}) {
			return complaint{}
		}
		for _, r := range replicas {
			if !oneReplica.MatchString(r) {
				return complaint{v, key + " must be the literal '*' or a list of replicas in the following format: " +
					"[partitionId]:[brokerId],[partitionId]:[brokerId],..."}
			}
		}
		return complaint{}
	}}
}

// offsetReset is where a share group begins; by_duration takes an ISO-8601 duration (KIP-1106).
var offsetReset = Rule{"earliest, latest or by_duration:ISO-8601", func(v any) complaint {
	s := v.(string)
	if s == "earliest" || s == "latest" || strings.HasPrefix(s, "by_duration:P") {
		return complaint{}
	}
	return complaint{v, "String must be one of: earliest, latest, by_duration:<ISO-8601 duration>"}
}}

// The forms of controller.quorum.voters and controller.quorum.bootstrap.servers (KIP-595, KIP-853).
var voterList = Rule{"list of ID@HOST:PORT", listForm(func(s string) error { _, err := parseVoter(s); return err })}

var endpointList = Rule{"list of HOST:PORT", listForm(func(s string) error { _, err := parseEndpoint(s); return err })}

// listForm is listOf for elements that have a form of their own.
func listForm(parse func(string) error) func(v any) complaint {
	return func(v any) complaint {
		for _, element := range v.([]string) {
			if err := parse(element); err != nil {
				return complaint{element, err.Error()}
			}
		}
		return complaint{}
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func asNumber(v any) float64 {
	if n, whole := v.(int64); whole {
		return float64(n)
	}
	return v.(float64)
}
