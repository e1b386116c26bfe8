package dumplog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"troupe/codec/batch"
)

// A line is one thing shown: its String is the script's text, its fields are -o json.
type line interface{ String() string }

// emit writes a line. The writer keeps an error for the end.
func (d *dumper) emit(l line) {
	if !d.json {
		fmt.Fprintln(d.out, l)
		return
	}
	e := json.NewEncoder(d.out)
	// Keys and values go to programs that read JSON, not to a page.
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		fmt.Fprintf(d.errs, "%s: %s\n", l, err)
	}
}

// opened is the line before everything that is said of a file.
type opened struct {
	File string `json:"file"`
}

func (o opened) String() string { return "Dumping " + o.File }

// note is a line of text about a file.
type note struct {
	Text string `json:"note"`
}

func (n note) String() string { return n.Text }

// batchLine is a batch of a log.
type batchLine struct {
	BaseOffset      int64  `json:"baseOffset"`
	LastOffset      int64  `json:"lastOffset"`
	Count           int32  `json:"count"`
	BaseSequence    int32  `json:"baseSequence"`
	LastSequence    int32  `json:"lastSequence"`
	ProducerID      int64  `json:"producerId"`
	ProducerEpoch   int16  `json:"producerEpoch"`
	LeaderEpoch     int32  `json:"partitionLeaderEpoch"`
	Transactional   bool   `json:"isTransactional"`
	Control         bool   `json:"isControl"`
	DeleteHorizonMs *int64 `json:"deleteHorizonMs,omitempty"`
	Position        int64  `json:"position"`
	TimestampType   string `json:"timestampType"`
	Timestamp       int64  `json:"timestamp"`
	Size            int    `json:"size"`
	Codec           string `json:"compresscodec"`
	CRC             uint32 `json:"crc"`
	Valid           bool   `json:"isvalid"`
}

func newBatchLine(v batch.View, position int64) batchLine {
	l := batchLine{
		int64(v.BaseOffset()), int64(v.LastOffset()), v.Count(), int32(v.BaseSequence()), int32(v.LastSequence()),
		int64(v.ProducerID()), int16(v.ProducerEpoch()), int32(v.LeaderEpoch()), v.Transactional(), v.Control(), nil,
		position, timestampType(v), v.MaxTimestamp(), len(v), v.Codec().String(), v.CRC(), v.CheckCRC() == nil,
	}
	if v.HasDeleteHorizon() {
		horizon := v.BaseTimestamp()
		l.DeleteHorizonMs = &horizon
	}
	return l
}

// timestampType is a property of the batch: with LogAppendTime all its records have the broker's time (KIP-32).
func timestampType(v batch.View) string {
	if v.LogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

func (l batchLine) String() string {
	return fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
		"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: 2 "+
		"compresscodec: %s crc: %d isvalid: %t",
		l.BaseOffset, l.LastOffset, l.Count, l.BaseSequence, l.LastSequence, l.ProducerID, l.ProducerEpoch,
		l.LeaderEpoch, l.Transactional, l.Control, optionalLong(l.DeleteHorizonMs), l.Position, l.TimestampType, l.Timestamp, l.Size,
		l.Codec, l.CRC, l.Valid)
}

// optionalLong shows what may be absent as Java prints its container, which the script does not unwrap.
func optionalLong(n *int64) string {
	if n == nil {
		return "OptionalLong.empty"
	}
	return "OptionalLong[" + strconv.FormatInt(*n, 10) + "]"
}

// recordLine is a record of a batch; what is not to be shown is nil.
type recordLine struct {
	Metadata *recordMetadata `json:"metadata,omitempty"`
	Key      *string         `json:"key,omitempty"`
	Payload  *string         `json:"payload,omitempty"`
}

// recordMetadata is all of a record but its key and value. The sequence is counted here: batches store that of the first.
type recordMetadata struct {
	Offset        int64    `json:"offset"`
	TimestampType string   `json:"timestampType"`
	Timestamp     int64    `json:"timestamp"`
	KeySize       int      `json:"keySize"`
	ValueSize     int      `json:"valueSize"`
	Sequence      int32    `json:"sequence"`
	HeaderKeys    []string `json:"headerKeys"`
	Control       string   `json:"control,omitempty"`
}

func (l recordLine) String() string {
	text := ""
	if m := l.Metadata; m != nil {
		text = fmt.Sprintf("| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
			m.Offset, m.TimestampType, m.Timestamp, m.KeySize, m.ValueSize, m.Sequence, strings.Join(m.HeaderKeys, ","))
		if m.Control != "" {
			text += " " + m.Control
		}
	}
	// Without metadata, what comes first of key and value opens the line.
	before := " "
	if text == "" {
		before = "| "
	}
	if l.Key != nil {
		text += before + "key: " + *l.Key
		before = " "
	}
	if l.Payload != nil {
		text += before + "payload: " + *l.Payload
	}
	return text
}
