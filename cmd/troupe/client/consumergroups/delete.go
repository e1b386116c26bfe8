package consumergroups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/connection"
	"troupe/cmd/troupe/client/kafkatext"
	"troupe/cmd/troupe/client/option"
)

// deletion is what became of a group, or of a partition's offset.
type deletion struct {
	Group     string `json:"group"`
	Topic     string `json:"topic,omitempty"`
	Partition *int32 `json:"partition,omitempty"`
	Error     string `json:"error,omitempty"`
}

// delete deletes groups, one as well as the next: a group that has members is refused and stops no other.
func (c *command) delete(ctx context.Context) error {
	ids, err := c.groupIDs(ctx)
	if err != nil {
		return err
	}
	// The Java client collects its results in a hash map, whose order the sentences keep.
	ids = kafkatext.HashOrder(slices.Compact(slices.Sorted(slices.Values(ids))), 0)
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = ids
	refused := map[string]string{}
	// Without a group no broker is asked, and nothing has failed.
	if len(ids) > 0 {
		resp, err := connection.Ask(ctx, c.client, "deleteConsumerGroups", req.RequestWith)
		if err != nil {
			return inFuture(err)
		}
		for _, g := range resp.Groups {
			var failure *kafkatext.Failure
			if errors.As(kafkatext.Answer(g.ErrorCode, nil), &failure) {
				refused[g.Group] = failure.Qualified()
			}
		}
	}
	if option.JSON(c.fs) {
		all := []deletion{}
		for _, id := range ids {
			all = append(all, deletion{Group: id, Error: refused[id]})
		}
		return option.WriteJSON(c.streams, all)
	}
	return c.printDeleted(ids, refused)
}

// printDeleted names all groups in one sentence when all went well. After a failure the two kinds are told apart, the
// failures first, because they are what the reader has to do something about.
func (c *command) printDeleted(ids []string, refused map[string]string) error {
	var deleted, failed []string
	for _, id := range ids {
		if text, is := refused[id]; is {
			failed = append(failed, fmt.Sprintf("* Group '%s' could not be deleted due to: %s", id, text))
			continue
		}
		deleted = append(deleted, "'"+id+"'")
	}
	names := strings.Join(deleted, ", ")
	if len(failed) == 0 {
		fmt.Fprintf(c.streams.Out, "Deletion of requested consumer groups (%s) was successful.\n", names)
		return nil
	}
	if err := c.complain("Deletion of some consumer groups failed:"); err != nil {
		return err
	}
	fmt.Fprintln(c.streams.Out, strings.Join(failed, "\n"))
	if len(deleted) > 0 {
		fmt.Fprintf(c.streams.Out, "\nThese consumer groups were deleted successfully: %s\n", names)
	}
	return nil
}
