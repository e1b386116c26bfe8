package peer

import (
	"fmt"

	"troupe/codec/private"
	"troupe/internal/model"
)

// Stranger tells that another node than the expected one answers at an address.
type Stranger struct {
	Expected model.BrokerID
	Met      private.Identity
}

// Error names both.
func (e *Stranger) Error() string {
	return fmt.Sprintf("expected node %d, met node %d of the cluster %s, directory %s, incarnation %s",
		e.Expected, e.Met.NodeID, e.Met.ClusterID, e.Met.Directory, e.Met.Incarnation)
}
