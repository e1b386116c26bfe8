package model

import (
	"fmt"
	"strings"
)

// topicNameMax is the longest topic name, in bytes, so that the name of a partition's directory stays under 255, with
// the suffix of one that is being deleted.
const topicNameMax = 249

// TopicNameFault tells in Kafka's words why a name is none that a topic can have: 1 to 249 of [a-zA-Z0-9._-], not "." or
// "..". "" means that it is one. Brokers and the scripts apply the same rule, each with an error of its own.
func TopicNameFault(name string) string {
	switch {
	case name == "":
		return "the empty string is not allowed"
	case name == "." || name == "..":
		return fmt.Sprintf("'%s' is not allowed", name)
	case len(name) > topicNameMax:
		return fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, topicNameMax)
	case strings.ContainsFunc(name, func(r rune) bool { return !topicNameRune(r) }):
		return fmt.Sprintf("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	}
	return ""
}

// topicNameRune knows ASCII only: a topic's name is a directory's name and part of metric names.
func topicNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}
