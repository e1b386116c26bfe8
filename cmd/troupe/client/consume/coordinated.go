package consume

import (
	"bufio"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"troupe/cmd/troupe/client/schema"
)

// coordinated writes the records of a coordinator's topic as JSON, one after the other without a line's end, as Kafka's do:
//
//	{"key":{"type":1,"data":{…}},"value":{"version":4,"data":{…}}}{"key":…
//
// Records of other types than it is for, or of types that came later, are passed over.
type coordinated struct {
	keys, values schema.Kind
	types        []int16
}

// coordinatorFormatters are Kafka's by the names of their classes; the numbers of types are of facts/records.md.
var coordinatorFormatters = map[string]coordinated{
	"OffsetsMessageFormatter":         {schema.GroupsKey, schema.GroupsValue, []int16{0, 1}},
	"GroupMetadataMessageFormatter":   {schema.GroupsKey, schema.GroupsValue, []int16{2}},
	"TransactionLogMessageFormatter":  {schema.TransactionsKey, schema.TransactionsValue, []int16{0}},
	"ShareGroupStateMessageFormatter": {schema.SharesKey, schema.SharesValue, []int16{0, 1}},
}

func (c coordinated) write(w *bufio.Writer, r *kgo.Record) error {
	if r.Key == nil {
		return nil
	}
	read, err := schema.ReadCoordinated(c.keys, c.values, r.Key, r.Value)
	switch {
	case errors.Is(err, schema.ErrUnknownType) || err == nil && !slices.Contains(c.types, read.Type):
		return nil
	case err != nil:
		return fmt.Errorf("Could not read record at offset %d due to: %w", r.Offset, err)
	}
	line := schema.Object{{Name: "key", Value: schema.Object{{Name: "type", Value: read.Type}, {Name: "data", Value: read.Key}}}, {Name: "value"}}
	if read.Value != nil {
		line[1].Value = schema.Object{{Name: "version", Value: read.Version}, {Name: "data", Value: read.Value}}
	}
	return put(w, line.String())
}
