package broker

import (
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestALimitOfConnectionsThatIsSetWhileTheBrokerRunsHoldsForTheNextOne(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	first := dial(t, n.address())
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	limit := "1"
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBroker,
		Configs:      []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "max.connections", Value: &limit}},
	}}
	resp, err := first.call(req)
	if err != nil {
		t.Fatal(err)
	}
	if r := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; r.ErrorCode != 0 {
		t.Fatalf("error %d", r.ErrorCode)
	}
	second := dial(t, n.address())
	if err := second.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := second.conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a second connection: %v; want it closed by the broker", err)
	}
	if _, err := first.call(kmsg.NewPtrApiVersionsRequest()); err != nil {
		t.Errorf("the first connection: %v; want it left alone", err)
	}
}
