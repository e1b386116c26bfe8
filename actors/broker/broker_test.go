package broker

import (
	"testing"
	"time"
)

func TestARecordIsThereAfterACleanStop(t *testing.T) {
	n := newNode(t, 1)
	n.start()
	c := dial(t, n.address())
	if err := createTopic(c, "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.call(produceRequest("a", -1, records(nil, time.Now(), "one", "two"))); err != nil {
		t.Fatal(err)
	}
	n.stopClean()
	n.start()
	got, err := fetchAll(dial(t, n.address()), "a", 0)
	if err != nil || len(got) != 2 || got[0] != "one" || got[1] != "two" {
		t.Fatalf("read %q, %v", got, err)
	}
}
