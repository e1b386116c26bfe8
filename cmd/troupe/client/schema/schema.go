// Package schema reads records by descriptions of them (records.txt) into JSON, as Kafka's generated JSON converters
// write them: fields in the schema's order, those that a version lacks left out, tagged ones only when they differ from
// their defaults.
package schema

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Kind tells which log a record stands in, and whether it is a key or a value there.
type Kind string

// The kinds; Embedded are control records and what groups carry for their members.
const (
	Metadata          Kind = "metadata"
	GroupsKey         Kind = "groups-key"
	GroupsValue       Kind = "groups-value"
	TransactionsKey   Kind = "transactions-key"
	TransactionsValue Kind = "transactions-value"
	SharesKey         Kind = "shares-key"
	SharesValue       Kind = "shares-value"
	Embedded          Kind = "embedded"
)

// Record describes one record.
type Record struct {
	Name string
	kind Kind
	key  int // the number that stands for it, -1: none
	// versions are those the fields are known for; a newer one cannot be read.
	versions span
	flexible span
	fields   []field
	structs  map[string][]field
}

// field is one field of a record or of a structure in it.
type field struct {
	name     string // as in JSON
	kind     string // without []
	array    bool
	versions span
	null     span
	tag      int // -1: none
	tagged   span
	def      string
	fields   []field // of a structure described in place
}

// span is a range of versions; the zero value is none.
type span struct{ first, last int16 }

var (
	none = span{1, 0}
	all  = span{0, 1<<15 - 1}
)

func (s span) has(version int16) bool { return version >= s.first && version <= s.last }

//go:embed records.txt
var text string

var load = sync.OnceValue(func() map[string]*Record { return parse(text) })

// Named finds a record by its name.
func Named(name string) *Record { return load()["name "+name] }

// Numbered finds a record by its kind and the number that stands for it; nil is unknown.
func Numbered(kind Kind, number int) *Record { return load()[index(kind, number)] }

func index(kind Kind, number int) string { return fmt.Sprintf("%s %d", kind, number) }

// parse reads the descriptions, which are part of this program: what it does not understand is a bug.
func parse(text string) map[string]*Record {
	found := map[string]*Record{}
	var r *Record
	// parents are the lists that fields of each depth go to.
	var parents []*[]field
	var structName string
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		// Two blanks a level: what stands deeper belongs to the field above it.
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		switch {
		case words[0] == "record":
			r = parseRecord(words)
			found["name "+r.Name] = r
			if r.key >= 0 {
				found[index(r.kind, r.key)] = r
			}
			parents, structName = []*[]field{nil, &r.fields}, ""
		// Shared structures come before the fields that use them and are filled as their own fields are read.
		case words[0] == "struct":
			structName = words[1]
			parents = append(parents[:2], new([]field))
		default:
			parents = parents[:depth+1]
			list := parents[depth]
			*list = append(*list, parseField(strings.TrimSpace(line)))
			if structName != "" {
				r.structs[structName] = *parents[2]
			}
			parents = append(parents, &(*list)[len(*list)-1].fields)
		}
	}
	return found
}

func parseRecord(words []string) *Record {
	r := &Record{Name: words[1], kind: Kind(words[2]), key: -1, structs: map[string][]field{}}
	for i := 3; i+1 < len(words); i += 2 {
		switch value := words[i+1]; words[i] {
		case "key":
			r.key = must(strconv.Atoi(value))
		case "versions":
			r.versions = parseSpan(value)
		case "flexible":
			r.flexible = parseSpan(value)
		}
	}
	return r
}

var (
	fieldPattern = regexp.MustCompile(`^(\w+): (\[\])?(\w+)(?: \[([\d+-]+)\])?(?: \((.*)\))?$`)
	nullPattern  = regexp.MustCompile(`null ([\d+-]+)`)
	tagPattern   = regexp.MustCompile(`tag (\d+) in ([\d+-]+)`)
	defPattern   = regexp.MustCompile(`default (\S+)$`)
)

func parseField(line string) field {
	m := fieldPattern.FindStringSubmatch(line)
	f := field{
		// Kafka's schemas begin names with a capital, its JSON does not.
		name: strings.ToLower(m[1][:1]) + m[1][1:], kind: m[3], array: m[2] != "",
		versions: all, null: none, tag: -1, tagged: none,
	}
	if m[4] != "" {
		f.versions = parseSpan(m[4])
	}
	if n := nullPattern.FindStringSubmatch(m[5]); n != nil {
		f.null = parseSpan(n[1])
	}
	if t := tagPattern.FindStringSubmatch(m[5]); t != nil {
		f.tag, f.tagged = must(strconv.Atoi(t[1])), parseSpan(t[2])
	}
	if d := defPattern.FindStringSubmatch(m[5]); d != nil {
		f.def = d[1]
	}
	return f
}

// parseSpan reads "2", "0-3", "1+" or "none".
func parseSpan(s string) span {
	first, last, ranged := strings.Cut(s, "-")
	switch {
	case s == "none":
		return none
	case strings.HasSuffix(s, "+"):
		return span{int16(must(strconv.Atoi(strings.TrimSuffix(s, "+")))), all.last}
	case ranged:
		return span{int16(must(strconv.Atoi(first))), int16(must(strconv.Atoi(last)))}
	}
	n := int16(must(strconv.Atoi(s)))
	return span{n, n}
}

// must is for numbers in records.txt, which is compiled in and read whole at the first use.
func must(n int, err error) int {
	if err != nil {
		panic("record descriptions: " + err.Error())
	}
	return n
}
