package kafkatext

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Properties are the keys and values of a Java property file.
type Properties map[string]string

// Load reads a property file.
func Load(path string) (Properties, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// parse reads java.util.Properties' line format: comments begin with # or !, a trailing backslash joins lines, the
// first unescaped '=', ':' or blank ends the key.
func parse(text string) (Properties, error) {
	p := Properties{}
	// Empty lines mean nothing in this format, so runs of line ends may count as one.
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		// The backslash goes with the line end, and so do the blanks that the next line begins with.
		for odd(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		key, value := split(line)
		k, err := unescape(key)
		if err != nil {
			return nil, err
		}
		v, err := unescape(value)
		if err != nil {
			return nil, err
		}
		p[k] = v
	}
	return p, nil
}

// odd tells whether a line ends in an unescaped backslash.
func odd(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// split ends the key at the first separator. Blanks round one "=" or ":" belong to neither side.
func split(line string) (key, value string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		// What is escaped ends no key.
		case '\\':
			i++
		case '=', ':', ' ', '\t', '\f':
			rest := strings.TrimLeft(line[i:], " \t\f")
			if rest != "" && (rest[0] == '=' || rest[0] == ':') {
				rest = strings.TrimLeft(rest[1:], " \t\f")
			}
			return line[:i], rest
		}
	}
	return line, ""
}

// unescape undoes \t \n \r \f and \uXXXX; a backslash before anything else is dropped.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+4 >= len(s) {
				return "", fmt.Errorf(`malformed \u escape in %q`, s)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`malformed \u escape in %q`, s)
			}
			b.WriteRune(rune(n))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// Pairs reads the values of options of the form key=value; a key alone has the empty value.
func Pairs(args []string) Properties {
	p := Properties{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		p[key] = value
	}
	return p
}

// Merge copies other over p.
func (p Properties) Merge(other Properties) {
	for k, v := range other {
		p[k] = v
	}
}

// True tells whether a property is "true" in any case.
func (p Properties) True(key string) bool {
	return strings.EqualFold(strings.TrimSpace(p[key]), "true")
}
