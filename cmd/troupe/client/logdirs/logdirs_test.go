package logdirs

import (
	"encoding/json"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func answer(code int16, topics map[string]int) kmsg.DescribeLogDirsResponseDir {
	d := kmsg.DescribeLogDirsResponseDir{Dir: "/data", ErrorCode: code}
	for _, name := range []string{"p1", "p3", "t1", "orders"} {
		t := kmsg.DescribeLogDirsResponseDirTopic{Topic: name}
		for p := range topics[name] {
			t.Partitions = append(t.Partitions, kmsg.DescribeLogDirsResponseDirTopicPartition{Partition: int32(p)})
		}
		d.Topics = append(d.Topics, t)
	}
	return d
}

// The order is the one kafka-log-dirs 4.3.1 printed these partitions in.
func TestReplicasComeInTheScriptsOrder(t *testing.T) {
	d := dirOf(answer(0, map[string]int{"p1": 1, "p3": 3, "t1": 3, "orders": 3}), []string{"p1", "p3", "t1"})
	want := []string{"p1-0", "p3-2", "p3-1", "p3-0", "t1-2", "t1-1", "t1-0"}
	if len(d.Partitions) != len(want) {
		t.Fatalf("got %d partitions", len(d.Partitions))
	}
	for i, p := range d.Partitions {
		if p.Partition != want[i] {
			t.Errorf("place %d: got %s, want %s", i, p.Partition, want[i])
		}
	}
}

func TestADirectoryThatFailedHasTheClassOfTheException(t *testing.T) {
	got, err := json.Marshal(document{[]broker{{1, []dir{dirOf(answer(56, nil), nil)}}}, 1})
	want := `{"brokers":[{"broker":1,"logDirs":[{"partitions":[],"error":"org.apache.kafka.common.errors.KafkaStorageException","logDir":"/data"}]}],"version":1}`
	if err != nil || string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
