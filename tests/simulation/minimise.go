package simulation

import "slices"

// minimiseRuns bounds how often a failing seed is run again.
const minimiseRuns = 60

// Minimise leaves out faults of a failing seed as long as it fails with fewer, and gives those that are left. That it fails
// in the same way is not asked for: any failure with fewer faults is easier to read.
func Minimise(o Options, failed Report) (Options, Report, error) {
	o.Story, o.Brokers = nil, nil
	o.Only = failed.Faults
	best, err := Run(o)
	if err == nil { // what was left out mattered after all
		o.Only = nil
		best, err = Run(o)
		return o, best, err
	}
	for part, runs := max(1, len(o.Only)/2), 0; part > 0 && runs < minimiseRuns; {
		smaller := false
		for at := 0; at < len(o.Only) && runs < minimiseRuns; {
			try := o
			try.Only = slices.Delete(slices.Clone(o.Only), at, min(at+part, len(o.Only)))
			runs++
			if r, failure := Run(try); failure != nil {
				o.Only, best, err, smaller = try.Only, r, failure, true
				continue
			}
			at += part
		}
		if part == 1 && !smaller {
			break
		}
		part = max(1, part/2)
	}
	return o, best, err
}
