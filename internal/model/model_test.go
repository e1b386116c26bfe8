package model

import (
	"bytes"
	"testing"
)

func TestUUIDTextIsKafkas(t *testing.T) {
	// The pair is that of Kafka's Uuid.METADATA_TOPIC_ID: bits 0 and 1.
	u := UUID{15: 1}
	if got := u.String(); got != "AAAAAAAAAAAAAAAAAAAAAQ" {
		t.Fatalf("text of uuid 1 = %q", got)
	}
	back, err := ParseUUID("AAAAAAAAAAAAAAAAAAAAAQ")
	if err != nil || back != u {
		t.Fatalf("parsed %v, %v", back, err)
	}
	for _, bad := range []string{"", "AAAA", "AAAAAAAAAAAAAAAAAAAA=Q", "AAAAAAAAAAAAAAAAAAAAAQAA", "AAAAAAAAAAAAAAAAAAAAAR", "AAAAAAAAAAA\nAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAA\nQ"} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("%q was taken for a uuid", bad)
		}
	}
}

func TestNewUUIDSkipsTextsThatLookLikeFlags(t *testing.T) {
	dash := bytes.Repeat([]byte{0xf8}, 16) // 0xf8 encodes to '-' first
	ok := bytes.Repeat([]byte{0x11}, 16)
	u, err := NewUUID(bytes.NewReader(append(dash, ok...)))
	if err != nil {
		t.Fatal(err)
	}
	if u[0] != 0x11 || u[6] != 0x41 || u[8] != 0x91 {
		t.Fatalf("drawn %x", u)
	}
}
