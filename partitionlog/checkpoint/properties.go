package checkpoint

import (
	"strconv"
	"strings"
)

// properties are the lines of a Java properties file, as far as Java's own store method writes them: comments, and
// key=value with a backslash before what would be read otherwise. The last of two equal keys counts.
type properties map[string]property

type property struct {
	value string
	line  int
}

func parseProperties(name string, data []byte) (properties, error) {
	props := properties{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		at := separator(line)
		if at < 0 {
			return nil, &FormatError{name, i + 1, "not of the form key=value"}
		}
		key, keyOK := unescapeProperty(strings.TrimSpace(line[:at]))
		value, valueOK := unescapeProperty(strings.TrimSpace(line[at+1:]))
		if !keyOK || !valueOK {
			return nil, &FormatError{name, i + 1, "an escape or a line break that no id has"}
		}
		props[key] = property{value, i + 1}
	}
	return props, nil
}

// number reads a required int32 that is not negative.
func (p properties) number(name, key string) (int32, error) {
	v, ok := p[key]
	if !ok {
		return 0, &FormatError{name, 0, key + " is missing"}
	}
	n, err := parseNumber(key, v.value, 32)
	if err != nil {
		return 0, &FormatError{name, v.line, err.Error()}
	}
	return int32(n), nil
}

// separator finds the first '=' or ':' that no backslash precedes.
func separator(line string) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':':
			return i
		}
	}
	return -1
}

// unescapeProperty fails on what cannot be part of an id: a cut escape, a line break, white space at either end.
func unescapeProperty(s string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case i == len(s) || strings.IndexByte("tnrf", s[i]) >= 0:
			return "", false
		case s[i] != 'u':
			out.WriteByte(s[i])
		case i+5 > len(s):
			return "", false
		default:
			code, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", false
			}
			out.WriteRune(rune(code))
			i += 4
		}
	}
	text := out.String()
	return text, text == strings.TrimSpace(text) && !strings.ContainsAny(text, "\r\n")
}

// propertyEscaper puts a backslash where Java's store does, except before spaces, of which ids have none at their ends.
var propertyEscaper = strings.NewReplacer(`\`, `\\`, "=", `\=`, ":", `\:`, "#", `\#`, "!", `\!`)

func escapeProperty(s string) string { return propertyEscaper.Replace(s) }
