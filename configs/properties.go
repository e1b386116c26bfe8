package configs

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The format is that of java.util.Properties:
//
//	# or ! begins a comment line        key=value   key:value   key value
//	an odd number of \ at the end of a line continues it, without the next line's leading blanks
//	\t \n \r \f \uXXXX and \ before any other character stand for characters
//
// A key that is set twice has its last value, as in Java. Text is UTF-8; Java would read Latin-1, which agrees in
// ASCII, and a file that is not UTF-8 is read as Latin-1 here too.
func parseProperties(file string, content []byte) (settings, error) {
	text := string(content)
	if !utf8.ValidString(text) {
		text = latin1(content)
	}
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
	all := settings{}
	for at := 0; at < len(lines); {
		first := at
		line := strings.TrimLeft(lines[at], blanks)
		at++
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) && at < len(lines) {
			line = line[:len(line)-1] + strings.TrimLeft(lines[at], blanks)
			at++
		}
		if continues(line) {
			line = line[:len(line)-1]
		}
		origin := fmt.Sprintf("%s:%d", file, first+1)
		rawKey, rawValue := splitProperty(line)
		key, err := unescape(rawKey)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", origin, err)
		}
		value, err := unescape(rawValue)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", origin, key, err)
		}
		all[key] = setting{value: strings.TrimSpace(value), origin: origin}
	}
	return all, nil
}

const blanks = " \t\f"

// continues tells whether the end of the line is escaped: two backslashes are one that is meant.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitProperty ends the key at the first =, : or blank that is not escaped; blanks round one = or : belong to it.
func splitProperty(line string) (key, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=:"+blanks, rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	value = strings.TrimLeft(line[end:], blanks)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], blanks)
	}
	return line[:end], value
}

// unescape drops a backslash before a character without a meaning of its own, as Java does.
func unescape(s string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			out.WriteByte('\t')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 'f':
			out.WriteByte('\f')
		case 'u':
			n, err := strconv.ParseUint(s[i+1:min(i+5, len(s))], 16, 16)
			if err != nil || i+5 > len(s) {
				return "", fmt.Errorf(`%q: expected four hexadecimal digits after \u`, s)
			}
			out.WriteRune(rune(n))
			i += 4
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String(), nil
}

// latin1 reads the bytes as Java's Properties does: one byte a character, whatever the platform's encoding. Others are
// written as \uXXXX.
func latin1(content []byte) string {
	runes := make([]rune, len(content))
	for i, b := range content {
		runes[i] = rune(b)
	}
	return string(runes)
}
