package consumerperf

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// fields are the letters of java.text.SimpleDateFormat that are numbers of a time. Names of months, days and zones depend
// on a locale and are not among them.
var fields = map[byte]func(time.Time) int{
	'y': func(t time.Time) int { return t.Year() },
	'M': func(t time.Time) int { return int(t.Month()) },
	'd': func(t time.Time) int { return t.Day() },
	'D': func(t time.Time) int { return t.YearDay() },
	'H': func(t time.Time) int { return t.Hour() },
	'h': func(t time.Time) int { return (t.Hour()+11)%12 + 1 },
	'm': func(t time.Time) int { return t.Minute() },
	's': func(t time.Time) int { return t.Second() },
	'S': func(t time.Time) int { return t.Nanosecond() / int(time.Millisecond) },
}

// dateFormat reads a pattern: a run of a letter is a number of at least so many digits, text stands between quotes, two
// of which are one, and everything else but letters stands for itself.
func dateFormat(pattern string) (func(time.Time) string, error) {
	var parts []func(time.Time) string
	text := func(s string) { parts = append(parts, func(time.Time) string { return s }) }
	for i := 0; i < len(pattern); {
		letter := pattern[i]
		run := len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], string(letter)))
		switch {
		case letter == '\'':
			quoted, length := quotation(pattern[i:])
			if length == 0 {
				return nil, errors.New("Unterminated quote")
			}
			text(quoted)
			i += length
		case letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z':
			field, known := fields[letter]
			if !known || letter == 'M' && run > 2 {
				return nil, fmt.Errorf("Illegal pattern character '%c'", letter)
			}
			parts = append(parts, number(field, letter, run))
			i += run
		default:
			text(string(letter))
			i++
		}
	}
	return func(t time.Time) string {
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(part(t))
		}
		return b.String()
	}, nil
}

// quotation reads the text between quotes that s begins with, and tells how long it is with them; 0 when it does not end.
// Two quotes are one, inside of others as well as alone.
func quotation(s string) (text string, length int) {
	if strings.HasPrefix(s, "''") {
		return "'", 2
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
			text += s[i : i+1]
		case i+1 < len(s) && s[i+1] == '\'':
			text += "'"
			i++
		default:
			return text, i + 1
		}
	}
	return "", 0
}

// number is a field in the local time zone; two letters of a year are its last two digits.
func number(field func(time.Time) int, letter byte, run int) func(time.Time) string {
	return func(t time.Time) string {
		n := field(t.Local())
		if letter == 'y' && run == 2 {
			n %= 100
		}
		return fmt.Sprintf("%0*d", run, n)
	}
}
