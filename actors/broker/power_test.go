package broker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/codec/batch"
	"troupe/codec/kerr"
	"troupe/internal/model"
)

// cutsVar is the environment variable with the number of power cuts; the default keeps the test short.
const cutsVar = "TROUPE_POWER_CUTS"

const (
	defaultCuts  = 200
	cutsPerDisk  = 8 // then a new disk, so that what is read again stays little
	window       = 5 // batches that an idempotent producer has unanswered
	longestCut   = 40
	powerTopic   = "power"
	largestValue = 300
)

// ledger is what one idempotent producer knows of the batches it sent.
type ledger struct {
	producer batch.Producer
	sent     []string // values by sequence, one a batch
	offsets  []int64  // of those that were answered; -1 for the others
}

func (l *ledger) records(sequence int) []byte {
	p := l.producer
	p.Sequence = model.Sequence(sequence)
	return records(&p, time.Now(), l.sent[sequence])
}

// firstUnknown is the first batch that was not answered.
func (l *ledger) firstUnknown() int {
	for i, o := range l.offsets {
		if o < 0 {
			return i
		}
	}
	return len(l.sent)
}

// run sends the producer's batches from the first unanswered one on, new ones after them, five in flight, until limit
// are answered, or one is not answered with success.
func (l *ledger) run(c *client, random *rand.Rand, limit int) error {
	at := l.firstUnknown()
	var waiting []*kmsg.ProduceRequest
	first := at
	for sent := at; ; {
		for len(waiting) < window && sent < at+limit {
			if sent == len(l.sent) {
				l.sent = append(l.sent, fmt.Sprintf("%d %s", sent, strings.Repeat("v", random.IntN(largestValue))))
				l.offsets = append(l.offsets, -1)
			}
			req := produceRequest(powerTopic, -1, l.records(sent))
			if err := c.send(req); err != nil {
				return err
			}
			waiting = append(waiting, req)
			sent++
		}
		if len(waiting) == 0 {
			return nil
		}
		resp, err := c.receive(waiting[0])
		if err != nil {
			return err
		}
		p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			return kerr.Code(p.ErrorCode)
		}
		l.offsets[first] = p.BaseOffset
		waiting, first = waiting[1:], first+1
	}
}

// check holds the log against the ledger: what was answered stands where the answer said, and in all the log is a
// beginning of what was sent.
func (l *ledger) check(log []string) error {
	if len(log) > len(l.sent) {
		return fmt.Errorf("the log has %d records, only %d were sent", len(log), len(l.sent))
	}
	for i, v := range log {
		if v != l.sent[i] {
			return fmt.Errorf("record %d is %.20q, sent was %.20q", i, v, l.sent[i])
		}
	}
	for i, o := range l.offsets {
		if o >= 0 && (o != int64(i) || i >= len(log)) {
			return fmt.Errorf("batch %d was acknowledged at offset %d; the log ends at %d", i, o, len(log))
		}
	}
	return nil
}

func TestWhatWasAcknowledgedOutlivesThePowerAndTheProcess(t *testing.T) {
	cuts := defaultCuts
	if v := os.Getenv(cutsVar); v != "" {
		cuts, _ = strconv.Atoi(v)
	}
	for disk := 0; disk*cutsPerDisk < cuts; disk++ {
		if !t.Run(fmt.Sprintf("disk %d", disk), func(t *testing.T) { powerCuts(t, uint64(disk)) }) {
			return
		}
	}
}

func powerCuts(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	n := newNode(t, seed, "log.segment.delete.delay.ms=0", "log.flush.offset.checkpoint.interval.ms=20", "replica.high.watermark.checkpoint.interval.ms=10")
	// A kill takes nothing of what was never synced; a power cut only of that.
	settings, cuts := map[string]string{}, seed%4 > 0
	if cuts {
		settings["flush.messages"] = "1"
	}
	if seed%3 == 0 { // roll often
		settings["segment.ms"] = "5"
	}
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, powerTopic, settings); err != nil {
		t.Fatal(err)
	}
	id, err := producerID(c)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{producer: batch.Producer{ID: id}}
	for range cutsPerDisk {
		// Most times the power goes, or the process, while batches are under way, which ends the load; else it goes now.
		end := n.endAfter(random, cuts)
		_ = l.run(c, random, 40)
		end()
		restart(t, n, random, cuts)
		c = dial(t, n.address())
		log, err := fetchAll(c, powerTopic, 0)
		if err == nil {
			err = l.check(log)
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if err := l.run(c, random, window); err != nil {
		t.Fatalf("after the last cut: %v", err)
	}
}

// endAfter kills the process within some calls from now, or cuts the power; what it returns does so at the latest.
func (n *node) endAfter(random *rand.Rand, cuts bool) func() {
	calls := 1 + random.IntN(longestCut)
	if !cuts || random.IntN(2) == 0 {
		n.killAfter(calls, random)
		return n.kill
	}
	n.fs.CutAfter(calls)
	return n.cutPower
}

// restart starts the broker, and now and then ends it in the middle of that.
func restart(t *testing.T, n *node, random *rand.Rand, cuts bool) {
	t.Helper()
	for random.IntN(3) == 0 {
		end := n.endAfter(random, cuts)
		_ = n.tryStart() // it may come to its end
		end()
	}
	n.start()
}
