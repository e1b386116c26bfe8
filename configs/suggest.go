package configs

import "strings"

// suggestion ends an error about an unknown key: with the broker's name of a topic's key, else with the known key that
// is nearest, when one is near enough to be meant.
func suggestion(unknown string) string {
	if behind := topicSynonyms[unknown]; behind != nil {
		return "; it is a topic's key, and the broker's is " + behind[0].name
	}
	// A third of the letters may be wrong; what is further off is another key.
	nearest, least := "", len(unknown)/3+1
	for _, name := range brokerKeys().names() {
		if d := distance(unknown, name); d < least {
			nearest, least = name, d
		}
	}
	if nearest == "" {
		return "; docs/configs.md lists all keys"
	}
	return "; " + nearest + " may be meant"
}

// distance counts the letters to add, drop or change (Levenshtein).
func distance(a, b string) int {
	// One row of the table is enough: each cell needs its left, upper and upper left neighbour.
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// expectation says in words what a key takes. It ends an error at the start, where there is room for more than Kafka's
// own complaint.
func (k Key) expectation() string {
	kind := map[Type]string{Boolean: "true or false", String: "a text", Int: "a whole number", Short: "a whole number", Long: "a whole number",
		Double: "a number", List: "texts between commas", Class: "a class name", Password: "a secret"}[k.Type]
	parts := []string{kind}
	if k.Unit != "" {
		parts[0] += " of " + k.Unit
	}
	if k.Valid.text != "" {
		parts = append(parts, k.Valid.text)
	}
	if !k.Null && k.Default != "" {
		parts = append(parts, "by default "+k.Default)
	}
	return strings.Join(parts, ", ")
}
