package leaderelection

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/option"
)

// The complaints are those of kafka-leader-election of 4.3.1.
func TestAFileThatCannotBeReadIsToldAsTheScriptTellsIt(t *testing.T) {
	for text, want := range map[string]string{
		`xx`:                             "Replica election data is empty",
		`[]`:                             "com.fasterxml.jackson.databind.JsonMappingException: Expected JSON object, received []",
		`{"partitionz":0}`:               `Replica election data is missing "partitions" field`,
		`{"partitions":[{"topic":"a"}]}`: "com.fasterxml.jackson.databind.JsonMappingException: No such field exists: `partition`",
		`{"partitions":[{"topic":"a","partition":"b"}]}`:                           "com.fasterxml.jackson.databind.JsonMappingException: Expected `Integer` value, received \"b\"",
		`{"partitions":[{"topic":"a","partition":0},{"topic":"a","partition":0}]}`: "Replica election data contains duplicate partitions: [a-0]",
	} {
		if _, err := parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if all, err := parse([]byte(`{"version":1,"partitions":[{"topic":"a","partition":3}]}`)); err != nil || len(all) != 1 || all[0].String() != "a-3" {
		t.Errorf("got %v, %v", all, err)
	}
}

// The order of the partitions and the lines are those that the script printed of such an answer.
func TestPartitionsAreToldByWhatBecameOfThem(t *testing.T) {
	missing := "No such topic as zz"
	answer := &kmsg.ElectLeadersResponse{Topics: []kmsg.ElectLeadersResponseTopic{
		{Topic: "t3", Partitions: []kmsg.ElectLeadersResponseTopicPartition{{Partition: 2, ErrorCode: 84}, {Partition: 0, ErrorCode: 84}, {Partition: 1}}},
		{Topic: "t1", Partitions: []kmsg.ElectLeadersResponseTopicPartition{{Partition: 0, ErrorCode: 84}}},
		{Topic: "zz", Partitions: []kmsg.ElectLeadersResponseTopicPartition{{Partition: 0, ErrorCode: 3, ErrorMessage: &missing}}},
	}}
	var out bytes.Buffer
	o := (&plan{kind: preferred}).sort(answer)
	o.print(option.Streams{Out: &out})
	want := "Successfully completed leader election (PREFERRED) for partitions t3-1\n" +
		"Valid replica already elected for partitions t3-0, t3-2, t1-0\n" +
		"Error completing leader election (PREFERRED) for partition: zz-0: " +
		"org.apache.kafka.common.errors.UnknownTopicOrPartitionException: No such topic as zz\n"
	if out.String() != want {
		t.Errorf("\n got %s\nwant %s", out.String(), want)
	}
}
