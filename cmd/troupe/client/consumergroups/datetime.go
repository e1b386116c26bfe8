package consumergroups

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// parseDatetime reads an ISO 8601 time with milliseconds, in UTC unless it has an offset. Errors are those of Java's
// parser with the class that the script puts before them.
func parseDatetime(text string) (time.Time, error) {
	_, clock, ok := strings.Cut(text, "T")
	if !ok || clock == "" {
		return time.Time{}, errors.New("java.text.ParseException: Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
	}
	if !strings.ContainsAny(clock, "+-Z") {
		text += "Z"
	}
	for _, layout := range []string{"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000Z0700", "2006-01-02T15:04:05.000Z07"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("java.text.ParseException: Unparseable date: \"%s\"", text)
}

// durations are those of java.time.Duration.parse: PnDTnHnMn.nS, each part with a sign of its own if need be.
var durations = regexp.MustCompile(`(?i)^([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?$`)

var errDuration = errors.New("Text cannot be parsed to a Duration")

// parseDuration reads an ISO 8601 duration of days and less.
func parseDuration(text string) (time.Duration, error) {
	m := durations.FindStringSubmatch(text)
	// A P or a T without anything behind it is none.
	if m == nil || strings.EqualFold(m[3], "T") || m[2]+m[4]+m[5]+m[6] == "" {
		return 0, errDuration
	}
	total := new(big.Int)
	for _, part := range []struct {
		digits string
		unit   time.Duration
	}{
		{m[2], 24 * time.Hour}, {m[4], time.Hour}, {m[5], time.Minute}, {m[6], time.Second},
		{fraction(m[6], m[7]), time.Nanosecond},
	} {
		if n, ok := new(big.Int).SetString(part.digits, 10); ok {
			total.Add(total, n.Mul(n, big.NewInt(int64(part.unit))))
		}
	}
	if m[1] == "-" {
		total.Neg(total)
	}
	// Java's durations reach further than Go's 292 years, which is further than any record is old.
	if !total.IsInt64() || total.Int64() == math.MinInt64 {
		return 0, fmt.Errorf("%w: %s is more than 292 years", errDuration, text)
	}
	return time.Duration(total.Int64()), nil
}

// fraction gives the digits behind the point in nanoseconds, with the sign that stands before the seconds.
func fraction(seconds, digits string) string {
	if digits == "" {
		return ""
	}
	sign := ""
	if strings.HasPrefix(seconds, "-") {
		sign = "-"
	}
	return sign + (digits + "000000000")[:9]
}
