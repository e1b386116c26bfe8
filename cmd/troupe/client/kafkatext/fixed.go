package kafkatext

import (
	"math"
	"strconv"
	"strings"

	"troupe/internal/javatext"
)

// Fixed writes a number with so many digits after the point as Java's %f does: it rounds the shortest decimal form half
// up, where Go rounds the binary value half to even.
func Fixed(v float64, digits int) string {
	if text, ok := javatext.NotFinite(v); ok {
		return text
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'f', -1, 64), ".")
	up := len(fraction) > digits && fraction[digits] >= '5'
	fraction = (fraction + strings.Repeat("0", digits))[:digits]
	number := []byte(whole + fraction)
	// One is added to the digits by hand, carrying over nines: the number may have more of them than an integer holds.
	for i := len(number) - 1; up && i >= 0; i-- {
		if up = number[i] == '9'; up {
			number[i] = '0'
		} else {
			number[i]++
		}
	}
	if up {
		number = append([]byte{'1'}, number...)
	}
	text := string(number)
	if digits > 0 {
		text = text[:len(text)-digits] + "." + text[len(text)-digits:]
	}
	if v < 0 {
		text = "-" + text
	}
	return text
}
