//go:build !unix

package broker

// descriptorLimit is what may be used where the system sets no limit of its own.
func descriptorLimit(configured int) int {
	if configured > 0 {
		return configured
	}
	return 8192
}
