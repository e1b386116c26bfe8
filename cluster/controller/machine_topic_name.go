package controller

import (
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// metadataTopic is the metadata log, which is no topic of the image.
const metadataTopic = "__cluster_metadata"

// CheckTopicName judges the name of a new topic by model.TopicNameFault.
// Error: INVALID_TOPIC_EXCEPTION, or INVALID_REQUEST for the metadata log's name.
func CheckTopicName(name string) error {
	if why := model.TopicNameFault(name); why != "" {
		return fail(kerr.InvalidTopicException, "Topic name is invalid: "+why)
	}
	if name == metadataTopic {
		return fail(kerr.InvalidRequest, "Creation of internal topic "+metadataTopic+" is prohibited.")
	}
	return nil
}
