package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
)

// FetchSnapshot (key 59), versions 0-1 (KIP-630): a piece of a checkpoint of the metadata, for a node that is too far behind.
// The quorum's leader answers; a barrier on its connection.
//
// Errors: 31 CLUSTER_AUTHORIZATION_FAILED; the partition: 3 UNKNOWN_TOPIC_OR_PARTITION, 6 NOT_LEADER_OR_FOLLOWER, 74
// FENCED_LEADER_EPOCH, 75 UNKNOWN_LEADER_EPOCH, 98 SNAPSHOT_NOT_FOUND, 99 POSITION_OUT_OF_RANGE.
var fetchSnapshot = &Handler{
	Key: 59, Name: "FetchSnapshot", Min: 0, Max: 1, On: OnController,
	Access: Access{ClusterAction, OnCluster},
	Handle: func(n *Node, r *Request) {
		n.Controller.SendCaused(r.Cause, &controller.FetchSnapshot{
			Body: r.Body.(*kmsg.FetchSnapshotRequest), Done: func(resp *kmsg.FetchSnapshotResponse) { r.Reply(resp) },
		})
	},
}
