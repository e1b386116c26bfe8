package configs

// Rule is what a key asks of a parsed value beyond its type. The zero Rule asks nothing.
type Rule struct {
	text  string // what is valid, for documentation
	check func(v any) string
}
