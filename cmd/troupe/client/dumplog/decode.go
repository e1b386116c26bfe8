package dumplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
	"troupe/cmd/troupe/client/schema"
	"troupe/codec/batch"
)

// decoder gives the texts of a record's key and value; nil is not shown.
type decoder func(r batch.Record) (key, payload *string, err error)

// decoder chooses by the options; the log decoders come first, in the script's order.
func (c *command) decoder(fs *pflag.FlagSet) (decoder, error) {
	switch {
	case fs.Changed("offsets-decoder"):
		return coordinator(schema.GroupsKey, schema.GroupsValue), nil
	case fs.Changed("transaction-log-decoder"):
		return coordinator(schema.TransactionsKey, schema.TransactionsValue), nil
	case fs.Changed("cluster-metadata-decoder"):
		return metadata, nil
	// Refused rather than ignored: the records would be shown as text without a word.
	case fs.Changed("remote-log-metadata-decoder"):
		return nil, option.Fail("--remote-log-metadata-decoder is not available: there is no tiered storage")
	case fs.Changed("share-group-state-decoder"):
		return coordinator(schema.SharesKey, schema.SharesValue), nil
	}
	key, keyErr := plainDecoder(&c.keyDecoder)
	value, valueErr := plainDecoder(&c.valueDecoder)
	if err := errors.Join(keyErr, valueErr); err != nil {
		return nil, err
	}
	return func(r batch.Record) (*string, *string, error) {
		k, err := key(r.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("key at offset %d: %w", r.Offset, err)
		}
		v, err := value(r.Value)
		if err != nil {
			return nil, nil, fmt.Errorf("value at offset %d: %w", r.Offset, err)
		}
		return k, v, nil
	}, nil
}

// plainDecoder gives Kafka's decoder of a class name.
func plainDecoder(class *option.Text) (func([]byte) (*string, error), error) {
	name, err := class.One()
	if err != nil {
		return nil, err
	}
	// Classes are known by their simple names: what Kafka calls them by has changed packages.
	size, number := 0, func([]byte) int64 { return 0 }
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "", "StringDecoder":
		return func(b []byte) (*string, error) {
			if b == nil {
				return nil, nil
			}
			// Java's String puts U+FFFD in place of bytes that are no UTF-8.
			text := strings.ToValidUTF8(string(b), "\uFFFD")
			return &text, nil
		}, nil
	case "IntegerDecoder":
		size, number = 4, func(b []byte) int64 { return int64(int32(binary.BigEndian.Uint32(b))) }
	case "LongDecoder":
		size, number = 8, func(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }
	default:
		return nil, option.Fail("Failed to load decoder class %s: only StringDecoder, IntegerDecoder and LongDecoder are available", name)
	}
	return func(b []byte) (*string, error) {
		if b == nil {
			return nil, nil
		}
		if len(b) != size {
			return nil, fmt.Errorf("%d bytes are no number of %d bytes", len(b), size)
		}
		text := strconv.FormatInt(number(b), 10)
		return &text, nil
	}, nil
}

// metadata decodes the records of the metadata log: frame version, record and version as unsigned varints, then the
// record. They have no keys.
func metadata(r batch.Record) (*string, *string, error) {
	text, err := metadataText(r.Value)
	if err != nil {
		// A record that cannot be read is shown as its error, so that the rest of the log is still seen.
		text = fmt.Sprintf("Error at %d, skipping. %s", r.Offset, err)
	}
	return nil, &text, nil
}

func metadataText(b []byte) (string, error) {
	// Kafka's MetadataRecordSerde: frame version, then api key and version of the record, each at most a positive int16.
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > 1<<15-1 {
			return "", errors.New("the frame of the record is cut off")
		}
		numbers[i], b = n, b[size:]
	}
	if numbers[0] != 1 {
		return "", fmt.Errorf("Could not deserialize metadata record due to unknown frame version %d(only frame version 1 is supported)", numbers[0])
	}
	record := schema.Numbered(schema.Metadata, int(numbers[1]))
	if record == nil {
		return "", fmt.Errorf("Unknown metadata id %d", numbers[1])
	}
	data, err := record.Read(int16(numbers[2]), b)
	if err != nil {
		return "", err
	}
	return schema.Object{{Name: "type", Value: constantCase(record.Name)}, {Name: "version", Value: numbers[2]}, {Name: "data", Value: data}}.String(), nil
}

// constantCase turns TopicRecord into TOPIC_RECORD.
func constantCase(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(c))
	}
	return b.String()
}

// coordinator decodes the log of a coordinator: a key begins with the number of its record, a value with its version.
func coordinator(keys, values schema.Kind) decoder {
	return func(r batch.Record) (*string, *string, error) {
		// Coordinators write no record without a key, so the log is another's.
		if r.Key == nil {
			return nil, nil, fmt.Errorf("Failed to decode message at offset %d using the specified decoder (message had a missing key)", r.Offset)
		}
		key, value, err := coordinatorTexts(keys, values, r)
		if err != nil {
			text := fmt.Sprintf("Error at offset %d, skipping. %s", r.Offset, err)
			return &text, nil, nil
		}
		return key, value, nil
	}
}

// coordinatorTexts gives the texts of a key and a value. A record of an unknown type is shown as such.
func coordinatorTexts(keys, values schema.Kind, r batch.Record) (*string, *string, error) {
	c, err := schema.ReadCoordinated(keys, values, r.Key, r.Value)
	switch {
	case errors.Is(err, schema.ErrUnknownType):
		text := fmt.Sprintf("Unknown record type %d at offset %d, skipping.", c.Type, r.Offset)
		return &text, nil, nil
	case err != nil:
		return nil, nil, err
	}
	key := schema.Object{{Name: "type", Value: strconv.Itoa(int(c.Type))}, {Name: "data", Value: c.Key}}.String()
	if c.Value == nil {
		deleted := "<DELETE>"
		return &key, &deleted, nil
	}
	if c.Message == "GroupMetadataValue" {
		openMembers(c.Value)
	}
	value := schema.Object{{Name: "version", Value: strconv.Itoa(int(c.Version))}, {Name: "data", Value: c.Value}}.String()
	return &key, &value, nil
}

// openMembers shows what the members of a consumer group subscribe to and are assigned, which a classic group keeps as
// bytes of the client's own format. Bytes that are not of it stay as they are.
func openMembers(group schema.Object) {
	consumers := false
	for _, m := range group {
		consumers = consumers || m.Name == "protocolType" && m.Value == "consumer"
		members, ok := m.Value.([]any)
		if !ok || !consumers || m.Name != "members" {
			continue
		}
		for _, member := range members {
			object := member.(schema.Object)
			for i, f := range object {
				switch f.Name {
				case "subscription":
					object[i].Value = embedded("ConsumerProtocolSubscription", f.Value)
				case "assignment":
					object[i].Value = embedded("ConsumerProtocolAssignment", f.Value)
				}
			}
		}
	}
}

// embedded reads bytes of the consumer protocol, which begin with the version of their own schema.
func embedded(name string, value any) any {
	b, ok := value.(schema.Bytes)
	if !ok || len(b) < 2 {
		return value
	}
	object, err := schema.Named(name).Read(int16(binary.BigEndian.Uint16(b)), b[2:])
	if err != nil {
		return value
	}
	return object
}
