package simulation

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// coverage counts what a seed met, of that which all seeds together have to meet.
type coverage struct {
	met map[string]int
}

// The rare things that a hundred seeds must have met, or they prove nothing about them.
const (
	truncation      = "truncation by divergence"
	pendingShrink   = "ISR shrink with an expansion pending"
	elrElection     = "ELR election"
	snapshotInstall = "snapshot install"
	voterChange     = "voter change"
	wipedDisk       = "wiped disk"
	tornTail        = "torn tail"
	coordinatorMove = "coordinator move in a commit"
)

// What is good to know of seeds besides.
const (
	forgiveness  = "partition forgiven"
	reassignment = "reassignment"
	renewedTopic = "topic deleted and made again"
	trimmed      = "records deleted"
	trapSprung   = "trap sprung"
	suspicion    = "suspicion"
)

var required = []string{truncation, pendingShrink, elrElection, snapshotInstall, voterChange, wipedDisk, tornTail, coordinatorMove}

func (c *coverage) meet(what string) {
	if c.met == nil {
		c.met = map[string]int{}
	}
	c.met[what]++
}

func (c *coverage) list() []string { return slices.Sorted(maps.Keys(c.met)) }

// missing names what seeds should have met and have not.
func missing(met map[string]int) (all []string) {
	for _, what := range required {
		if met[what] == 0 {
			all = append(all, what)
		}
	}
	return all
}

// answered looks for the last piece of a checkpoint of the metadata; the first one, which only names the voters, is nothing rare.
func (c *coverage) answered(req kmsg.Request, body []byte) {
	asked, is := req.(*kmsg.FetchSnapshotRequest)
	if !is {
		return
	}
	resp := asked.ResponseKind().(*kmsg.FetchSnapshotResponse)
	resp.SetVersion(asked.GetVersion())
	if resp.ReadFrom(body) != nil || len(resp.Topics) == 0 {
		return
	}
	if p := resp.Topics[0].Partitions[0]; p.ErrorCode == 0 && p.SnapshotID.EndOffset > 0 && p.Position+int64(len(p.Bytes)) == p.Size {
		c.meet(snapshotInstall)
	}
}
