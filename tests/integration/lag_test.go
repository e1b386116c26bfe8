package integration

import (
	"context"
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/tests/node"
)

// consumerGroups runs our command and gives its standard output.
func consumerGroups(t *testing.T, address string, args ...string) string {
	t.Helper()
	binary, err := node.Binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), node.Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, append([]string{"consumer-groups", "--bootstrap-server", address}, args...)...).Output()
	if err != nil {
		t.Fatalf("consumer-groups %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// lagColumn reads the column of a partition's row.
func lagColumn(t *testing.T, table string, partition int) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	at := strings.Index(lines[0], "LAG-SECONDS")
	if at < 0 {
		t.Fatalf("no column of lag in seconds:\n%s", table)
	}
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); fields[2] == strconv.Itoa(partition) {
			return strings.Fields(line[at:])[0]
		}
	}
	t.Fatalf("no partition %d:\n%s", partition, table)
	return ""
}

// behind makes a group that is behind in a topic of six partitions. Record i of a partition is 1000-10*i seconds old; all are
// one batch in partition 0, and in partition 5 each is a batch too large to come with others.
func behind(t *testing.T, address string) (group string) {
	t.Helper()
	topic := createTopic(t, address, 6)
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)

	now := time.Now()
	record := func(partition int32, i, size int) *kgo.Record {
		at := now.Add(time.Duration(10*i-1000) * time.Second)
		return &kgo.Record{Topic: topic.name, Partition: partition, Timestamp: at, Value: make([]byte, size)}
	}
	var together []*kgo.Record
	for i := range 10 {
		together = append(together, record(0, i, 10))
		for _, p := range []int32{1, 2, 3} {
			produceRecords(t, client, record(p, i, 10))
		}
	}
	produceRecords(t, client, together...)
	for i := range 3 {
		r := record(5, i, 0)
		r.Value = noise(200_000)
		produceRecords(t, client, r)
	}
	offsets := kadm.Offsets{}
	for partition, o := range map[int32]int64{0: 7, 1: 4, 2: 10, 3: 2, 5: 1} {
		offsets.AddOffset(topic.name, partition, o, -1)
	}
	group = freshName()
	if err := admin.CommitAllOffsets(t.Context(), group, offsets); err != nil {
		t.Fatal(err)
	}
	// Retention takes what the group wants next in partition 3.
	if _, err := admin.DeleteRecords(t.Context(), kadm.Offsets{topic.name: {3: {Topic: topic.name, Partition: 3, At: 8}}}); err != nil {
		t.Fatal(err)
	}
	return group
}

func TestConsumerGroupsTellsHowOldIsWhatWaits(t *testing.T) {
	address := groupBroker(t)
	began := time.Now()
	group := behind(t, address)
	table := consumerGroups(t, address, "--describe", "--group", group, "--lag-seconds")
	took := time.Since(began).Seconds() + 1
	for partition, old := range map[int]float64{0: 930, 1: 960, 3: 920, 5: 990} {
		got, err := strconv.ParseFloat(lagColumn(t, table, partition), 64)
		if err != nil || got < old-1 || got > old+took {
			t.Errorf("partition %d is %v s behind (%v), want %v and what the test took\n%s", partition, got, err, old, table)
		}
	}
	if got := lagColumn(t, table, 2); got != "0.000" {
		t.Errorf("the partition that is read is %s s behind", got)
	}

	var rows []struct {
		Partition  int
		Lag        *int64
		LagSeconds *float64
	}
	if err := json.Unmarshal([]byte(consumerGroups(t, address, "--describe", "--group", group, "--lag-seconds", "-o", "json")), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.LagSeconds == nil || (*r.LagSeconds == 0) != (r.Partition == 2) {
			t.Errorf("partition %d is %v s behind", r.Partition, r.LagSeconds)
		}
	}
	for _, args := range [][]string{{}, {"-o", "json"}} {
		plain := consumerGroups(t, address, append([]string{"--describe", "--group", group}, args...)...)
		if lower := strings.ToLower(plain); strings.Contains(lower, "seconds") {
			t.Errorf("nobody asked for seconds:\n%s", plain)
		}
	}
}

// produceRecords sends records at once and waits until they are acknowledged.
func produceRecords(t *testing.T, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// noise is what no codec makes smaller.
func noise(size int) []byte {
	b := make([]byte, size)
	x := uint64(size)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return b
}
