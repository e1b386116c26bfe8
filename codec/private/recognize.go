package private

import (
	"fmt"

	"troupe/codec/kerr"
)

// Version is that of the traffic between nodes which this software speaks. It rises with a change that an older node would
// misunderstand; both nodes of a connection must share one.
const Version = 1

// Recognize judges a node by its introduction. The error names both nodes: a *kerr.Error with INCONSISTENT_CLUSTER_ID,
// DUPLICATE_BROKER_REGISTRATION for another node with this one's id, or UNSUPPORTED_VERSION. A node that belongs to no
// cluster yet may talk to any, or it would never come to belong to one.
func (i *Identity) Recognize(other *Identity) error {
	switch {
	case i.ClusterID != other.ClusterID && i.ClusterID != "" && other.ClusterID != "":
		return &kerr.Error{Code: kerr.InconsistentClusterID, Detail: fmt.Sprintf(
			"node %d belongs to the cluster %s, node %d to the cluster %s", other.NodeID, other.ClusterID, i.NodeID, i.ClusterID)}
	case i.NodeID == other.NodeID:
		return &kerr.Error{Code: kerr.DuplicateBrokerRegistration, Detail: fmt.Sprintf(
			"two nodes have the node.id %d: that of directory %s (incarnation %s) and that of directory %s (incarnation %s)",
			i.NodeID, other.Directory, other.Incarnation, i.Directory, i.Incarnation)}
	case i.MinVersion > other.MaxVersion || other.MinVersion > i.MaxVersion:
		return &kerr.Error{Code: kerr.UnsupportedVersion, Detail: fmt.Sprintf(
			"node %d speaks the versions %d to %d of the traffic between nodes, node %d the versions %d to %d",
			other.NodeID, other.MinVersion, other.MaxVersion, i.NodeID, i.MinVersion, i.MaxVersion)}
	}
	return nil
}
