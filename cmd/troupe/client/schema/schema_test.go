package schema

import "testing"

func TestEveryDescriptionIsUnderstood(t *testing.T) {
	known := map[string]bool{
		"bool": true, "int8": true, "int16": true, "uint16": true, "int32": true, "int64": true, "float64": true,
		"uuid": true, "string": true, "bytes": true,
	}
	var check func(r *Record, fields []field)
	check = func(r *Record, fields []field) {
		for _, f := range fields {
			if known[f.kind] {
				continue
			}
			inner := f.fields
			if len(inner) == 0 {
				inner = r.structs[f.kind]
			}
			if len(inner) == 0 {
				t.Errorf("%s: %s is of the unknown type %s", r.Name, f.name, f.kind)
			}
			check(r, inner)
		}
	}
	for name, r := range load() {
		if name == "name "+r.Name {
			check(r, r.fields)
		}
	}
}

func TestATaggedFieldIsShownOnlyWhenItDiffersFromItsDefault(t *testing.T) {
	// PartitionChangeRecord 0: partition 7, a zero topic id, then tag 1 (leader) as written or left out.
	head := append([]byte{0, 0, 0, 7}, make([]byte, 16)...)
	r := Named("PartitionChangeRecord")
	for want, tags := range map[string][]byte{
		`{"partitionId":7,"topicId":"AAAAAAAAAAAAAAAAAAAAAA"}`:            {0},
		`{"partitionId":7,"topicId":"AAAAAAAAAAAAAAAAAAAAAA","leader":3}`: {1, 1, 4, 0, 0, 0, 3},
	} {
		o, err := r.Read(0, append(append([]byte(nil), head...), tags...))
		if err != nil || o.String() != want {
			t.Errorf("got %s, %v, want %s", o, err, want)
		}
	}
}

func TestARecordThatIsCutOffIsAnError(t *testing.T) {
	r := Named("TopicRecord")
	if _, err := r.Read(0, []byte{4, 'a', 'b'}); err == nil {
		t.Error("two of three bytes of a name were taken for a record")
	}
	if _, err := r.Read(9, nil); err == nil {
		t.Error("a version that is not known was read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("GroupMetadataValue", int16(3), []byte{0, 8, 'c', 'o', 'n', 's', 'u', 'm', 'e', 'r'})
	f.Add("RegisterBrokerRecord", int16(4), []byte{0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, name string, version int16, b []byte) {
		if r := Named(name); r != nil {
			if o, err := r.Read(version, b); err == nil && o.String() == "" {
				t.Error("a record without text")
			}
		}
	})
}
