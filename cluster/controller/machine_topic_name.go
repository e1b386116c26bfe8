package controller

import (
	"fmt"
	"strings"

	"troupe/codec/kerr"
)

// nameMax is the longest topic name, so that names of files made of it stay under 255.
const nameMax = 249

// metadataTopic is the metadata log, which is no topic of the image.
const metadataTopic = "__cluster_metadata"

// CheckTopicName judges the name of a new topic: 1 to 249 of [a-zA-Z0-9._-], not "." or "..".
// Error: INVALID_TOPIC_EXCEPTION, or INVALID_REQUEST for the metadata log's name.
func CheckTopicName(name string) error {
	var why string
	switch {
	case name == "":
		why = "the empty string is not allowed"
	case name == "." || name == "..":
		why = fmt.Sprintf("'%s' is not allowed", name)
	case len(name) > nameMax:
		why = fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, nameMax)
	case strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }):
		why = fmt.Sprintf("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	case name == metadataTopic:
		return fail(kerr.InvalidRequest, "Creation of internal topic "+metadataTopic+" is prohibited.")
	default:
		return nil
	}
	return fail(kerr.InvalidTopicException, "Topic name is invalid: "+why)
}

// nameRune knows ASCII only: a topic's name is a directory's name and part of metric names.
func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}
