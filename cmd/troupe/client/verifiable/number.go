package verifiable

import (
	"strconv"

	"troupe/cmd/troupe/client/option"
)

// Number reads the last value of an option as argparse does; def stands for an option that is absent.
func Number(script string, text *option.Text, name, class string, bits int, def int64) (int64, error) {
	if !text.Given() {
		return def, nil
	}
	n, err := strconv.ParseInt(text.Last(), 10, bits)
	if err != nil {
		return 0, option.Misuse(script, "argument --%s: could not convert '%s' to %s (For input string: %q)", name, text.Last(), class, text.Last())
	}
	return n, nil
}
