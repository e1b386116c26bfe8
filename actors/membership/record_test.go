package membership

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"troupe/internal/model"
)

func full() Record {
	return Record{
		ClusterID: "abc", NodeID: 258, Directory: model.UUID{1}, Incarnation: model.UUID{15: 2}, Controller: Address{Host: "c", Port: 9093},
		Broker: Address{Host: "b.example", Port: 9092}, Rack: "r1", Votes: true, Serves: true,
	}
}

// The bytes are written out from the drawing above Record.
const golden = "01" + "03" + "00000102" + "01000000000000000000000000000000" + "00000000000000000000000000000002" +
	"03616263" + "0163" + "2385" + "09622e6578616d706c65" + "2384" + "027231"

func TestARecordHasTheFormThatIsDrawn(t *testing.T) {
	r := full()
	b, err := r.Append(nil)
	if err != nil || hex.EncodeToString(b) != golden {
		t.Fatalf("%x, %v; want %s", b, err, golden)
	}
	for name, b := range map[string][]byte{"as it is": b, "with what a later software appends": append(bytes.Clone(b), 7, 7, 7)} {
		if got, err := parse(b); err != nil || got != r {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestARecordThatIsCutShortOrOfAnotherFormIsRefused(t *testing.T) {
	r := full()
	b, err := r.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := parse(b[:n]); !errors.Is(err, errRecord) {
			t.Errorf("%d of %d bytes are read: %v", n, len(b), err)
		}
	}
	b[0] = 2
	if _, err := parse(b); err == nil || !strings.Contains(err.Error(), "version 2, expected 1") {
		t.Errorf("of version 2: %v", err)
	}
	b[0], b[2] = 1, 0x80
	if _, err := parse(b); err == nil || !strings.Contains(err.Error(), "node.id") {
		t.Errorf("with a node.id below 0: %v", err)
	}
	if _, err := parse(make([]byte, recordMax+1)); err == nil {
		t.Error("one that is too large is read")
	}
}

// Host names of DNS have up to 253 characters, and memberlist takes 512 bytes.
func TestARecordThatMemberlistWouldNotTakeIsNotMade(t *testing.T) {
	host := strings.Repeat("h", 200)
	r := full()
	r.Controller.Host, r.Broker.Host = host, host
	if b, err := r.Append(nil); err != nil || len(b) > 512 {
		t.Fatalf("two long hosts take %d bytes, %v", len(b), err)
	}
	r.Rack = host
	if _, err := r.Append(nil); err == nil || !strings.Contains(err.Error(), "512") || !strings.Contains(err.Error(), "rack") {
		t.Fatalf("a record of more than 512 bytes: %v", err)
	}
	r = full()
	r.Rack = strings.Repeat("r", 256)
	if _, err := r.Append(nil); err == nil {
		t.Fatal("a text is longer than its length can say")
	}
}

func TestOnlyNodesOfTheClusterAreLetIn(t *testing.T) {
	self := full()
	for title, c := range map[string]struct {
		change func(*Record)
		name   string
		want   error
	}{
		"one of the cluster":              {func(r *Record) { r.NodeID = 3 }, "3@abc", nil},
		"one of another cluster":          {func(r *Record) { r.ClusterID = "xyz" }, "258@xyz", errOtherCluster},
		"one that looks for a cluster":    {func(r *Record) { r.ClusterID = "" }, "258@", errNewcomer},
		"one that goes by another's name": {func(r *Record) { r.NodeID = 3 }, "258@abc", errors.ErrUnsupported},
	} {
		r := full()
		c.change(&r)
		b, err := r.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = admit(&self, c.name, b)
		if known := c.want != errors.ErrUnsupported; known && !errors.Is(err, c.want) || !known && err == nil {
			t.Errorf("%s: %v", title, err)
		}
	}
}

func TestAFarewellIsReadAsItWasSaid(t *testing.T) {
	r := full()
	b := sayFarewell(&r)
	m, err := readFarewell(append(b, 9))
	if err != nil || m.ID != r.NodeID || m.Incarnation != r.Incarnation {
		t.Fatalf("%+v, %v", m, err)
	}
	for n := range b {
		if _, err := readFarewell(b[:n]); err == nil {
			t.Errorf("%d bytes are a farewell", n)
		}
	}
}

// What can be read is what can be written, and nothing makes the reader panic.
func FuzzRecord(f *testing.F) {
	b, err := hex.DecodeString(golden)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse(b)
		if err != nil {
			return
		}
		again, err := r.Append(nil)
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", r, err)
		}
		if !bytes.HasPrefix(b[2:], again[2:]) {
			t.Fatalf("%x is written as %x", b, again)
		}
		if got, err := parse(again); err != nil || got != r {
			t.Fatalf("%+v is read as %+v, %v", r, got, err)
		}
	})
}
