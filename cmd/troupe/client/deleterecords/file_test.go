package deleterecords

import (
	"testing"

	"troupe/internal/model"
)

func TestTheFileNamesPartitionsAndOffsets(t *testing.T) {
	got, err := parse([]byte(`{"version":1,"partitions":[{"topic":"a","partition":2,"offset":-1},{"topic":"b","partition":0,"offset":5}]}`))
	want := []target{{model.TopicPartition{Topic: "a", Partition: 2}, -1}, {model.TopicPartition{Topic: "b"}, 5}}
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, %v", got, err)
	}
}

// The texts are those of kafka-delete-records 4.3.1.
func TestAFileThatIsWrongIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"partitions":[{"topic":"p3"}`:   "The input string is not a valid JSON",
		`[]`:                              "Expected JSON object, received []",
		`{"version":2}`:                   "Not supported version field value 2",
		`{"version":1}`:                   "Missing partitions field",
		`{"partitions":[{"topic":"p3"}]}`: "No such field exists: `partition`",
		`{"partitions":[{"topic":"p3","partition":"a","offset":5}]}`:                                       "Expected `Integer` value, received \"a\"",
		`{"partitions":[{"topic":"p3","partition":0,"offset":5},{"topic":"p3","partition":0,"offset":6}]}`: "Offset json file contains duplicate topic partitions: p3-0",
	} {
		if _, err := parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}
