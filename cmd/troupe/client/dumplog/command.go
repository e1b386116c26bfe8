// Package dumplog is kafka-dump-log: it shows what is in the files of a log directory, and checks indexes against logs.
//
// It sends no requests and takes no lock: files may belong to a broker that is writing them, Troupe's or Kafka's. What it
// prints is compared with Kafka's own output for files of Kafka (testdata). Formats: docs/formats.
package dumplog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/cmd/troupe/client/option"
)

// command keeps the options that have values; the others are read off the flags.
type command struct {
	files, maxMessageSize, maxBytes option.Text
	keyDecoder, valueDecoder        option.Text
}

// Command makes the command.
func Command(s option.Streams) *cobra.Command {
	return option.Command("dump-log", "Show log segments, indexes, producer snapshots and checkpoints", s, &command{})
}

// stringDecoder is the decoder class that stands when none is given.
const stringDecoder = "org.apache.kafka.tools.api.StringDecoder"

// logDecoders are the options that parse the records of an internal log.
var logDecoders = []string{
	"offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder", "share-group-state-decoder", "remote-log-metadata-decoder",
}

func (c *command) Define(fs *pflag.FlagSet) {
	option.Var(fs, &c.files, "files", "FILE,...", ".log, .index, .timeindex, .txnindex, .snapshot and .checkpoint files")
	fs.Bool("print-data-log", false, "show keys and values")
	fs.Bool("deep-iteration", false, "show each record")
	fs.Bool("skip-record-metadata", false, "show nothing of records but keys and values")
	fs.Bool("verify-index-only", false, "check indexes against the log and show only what is wrong")
	fs.Bool("index-sanity-check", false, "check only what a broker checks of indexes when it starts")
	option.Default(fs, &c.maxMessageSize, "max-message-size", "BYTES", "5242880", "largest batch")
	option.Default(fs, &c.maxBytes, "max-bytes", "BYTES", fmt.Sprint(math.MaxInt32), "how much of a log to read")
	// A decoder class without a value still turns on the showing of contents.
	option.Optional(fs, &c.keyDecoder, "key-decoder-class", "CLASS", stringDecoder, "StringDecoder, IntegerDecoder or LongDecoder")
	option.Optional(fs, &c.valueDecoder, "value-decoder-class", "CLASS", stringDecoder, "StringDecoder, IntegerDecoder or LongDecoder")
	fs.Bool("offsets-decoder", false, "values are those of __consumer_offsets")
	fs.Bool("transaction-log-decoder", false, "values are those of __transaction_state")
	fs.Bool("cluster-metadata-decoder", false, "values are those of __cluster_metadata")
	fs.Bool("share-group-state-decoder", false, "values are those of __share_group_state")
	fs.Bool("remote-log-metadata-decoder", false, "not available: there is no tiered storage")
}

// dumper works through files.
type dumper struct {
	out, errs *bufio.Writer
	json      bool
	decode    decoder
	// deep shows each record, contents its key and value, contentsOnly nothing else of it.
	deep, contents, contentsOnly bool
	verifyOnly, sanityOnly       bool
	maxBytes, maxMessageSize     int64
	problems                     problems
}

func (c *command) Run(ctx context.Context, fs *pflag.FlagSet, s option.Streams) error {
	if err := option.Require(fs, "files"); err != nil {
		return err
	}
	files, err := c.files.One()
	if err != nil {
		return err
	}
	d := &dumper{
		// Both streams are buffered: a segment has millions of records, and problems are told after everything else.
		out: bufio.NewWriter(s.Out), errs: bufio.NewWriter(s.Err), json: option.JSON(fs),
		contentsOnly: fs.Changed("skip-record-metadata"), verifyOnly: fs.Changed("verify-index-only"), sanityOnly: fs.Changed("index-sanity-check"),
	}
	if d.maxBytes, err = c.maxBytes.Int(32, 0); err != nil {
		return err
	}
	if d.maxMessageSize, err = c.maxMessageSize.Int(32, 0); err != nil {
		return err
	}
	d.contents = fs.Changed("print-data-log") || option.Count(fs, "key-decoder-class", "value-decoder-class") > 0 || option.Count(fs, logDecoders...) > 0
	d.deep = d.contents || fs.Changed("deep-iteration")
	if d.decode, err = c.decoder(fs); err != nil {
		return err
	}
	for _, file := range strings.Split(strings.TrimRight(files, ","), ",") {
		if err == nil && ctx.Err() == nil {
			err = d.file(ctx, file)
		}
	}
	if err == nil {
		d.problems.print(d.errs)
	}
	return errors.Join(err, d.out.Flush(), d.errs.Flush())
}

// file shows one file by its suffix.
func (d *dumper) file(ctx context.Context, file string) error {
	d.emit(opened{file})
	switch filepath.Ext(file) {
	// A checkpoint of the metadata log (KIP-630) is a row of record batches, as a segment is.
	case ".log", ".checkpoint":
		return d.log(ctx, file)
	case ".index":
		return d.index(file)
	case ".timeindex":
		return d.timeIndex(file)
	case ".snapshot":
		return d.producers(file)
	case ".txnindex":
		return d.aborted(file)
	}
	fmt.Fprintf(d.errs, "Ignoring unknown file %s\n", file)
	return nil
}
