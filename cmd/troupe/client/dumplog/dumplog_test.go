package dumplog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/cmd/troupe/client/option"
)

// dump runs the command in testdata, where Kafka's dump-log ran to make the .out and .err files.
func dump(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Chdir("testdata")
	var out, errs bytes.Buffer
	s := option.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	c := Command(s)
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestFilesThatKafkaWroteAreShownAsKafkaShowsThem(t *testing.T) {
	const log, index = "00000000000000000000.log", "00000000000000000000.index"
	for name, args := range map[string][]string{
		"plain":     {"--files", "plain/" + log, "--print-data-log"},
		"txn":       {"--files", "txn/" + log + ",txn/00000000000000000000.txnindex", "--deep-iteration"},
		"sanity":    {"--files", "indexed/" + index + ",indexed/00000000000000000000.timeindex", "--index-sanity-check"},
		"metadata":  {"--files", "metadata/" + log, "--cluster-metadata-decoder"},
		"bootstrap": {"--files", "metadata/bootstrap.checkpoint", "--cluster-metadata-decoder", "--skip-record-metadata"},
		"groups":    {"--files", "groups/" + log, "--offsets-decoder"},
		"indexed": {"--files", "indexed/" + index + ",indexed/" + log + ",indexed/00000000000000000000.timeindex," +
			"indexed/00000000000000000021.snapshot"},
		"transactions": {"--files", "transactions/" + log, "--transaction-log-decoder"},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name+".out"))
			if err != nil {
				t.Fatal(err)
			}
			wantErr, err := os.ReadFile(filepath.Join("testdata", name+".err"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			out, errs, err := dump(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			if dir, err := os.Getwd(); err == nil {
				errs = strings.ReplaceAll(errs, dir+"/", "")
			}
			sameLines(t, out, string(want))
			sameLines(t, errs, string(wantErr))
		})
	}
}

func sameLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("line %d\n got %q\nwant %q", i+1, at(g, i), at(w, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}

// damaged copies the log of testdata/plain, changed by a function, under its name into a directory of its own.
func damaged(t *testing.T, change func([]byte) []byte) string {
	t.Helper()
	b, err := os.ReadFile("testdata/plain/00000000000000000000.log")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "00000000000000000000.log")
	if err := os.WriteFile(file, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBytesAfterTheLastWholeBatchAreCounted(t *testing.T) {
	file := damaged(t, func(b []byte) []byte { return b[:len(b)-10] })
	out, _, err := dump(t, "--files", file)
	if err != nil {
		t.Fatal(err)
	}
	// The last batch is 514 - 420 bytes long (plain.out), and ten of them are gone.
	if !strings.Contains(out, "invalid bytes at the end of 00000000000000000000.log\n") {
		t.Errorf("the torn tail is not reported:\n%s", out)
	}
}

func TestABatchWithAWrongChecksumIsShownAsInvalid(t *testing.T) {
	file := damaged(t, func(b []byte) []byte { b[80] ^= 0xff; return b })
	out, _, err := dump(t, "--files", file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(out, "isvalid: false") != 1 {
		t.Errorf("want one invalid batch:\n%s", out)
	}
}

func TestALengthNoBatchCanHaveEndsTheCommand(t *testing.T) {
	file := damaged(t, func(b []byte) []byte { return append(b, make([]byte, 100)...) })
	_, _, err := dump(t, "--files", file)
	want := "Found record size 0 smaller than minimum record overhead (14) in file " + file + "."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAnIndexEntryThatPointsToAnotherBatchIsAMismatch(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"00000000000000000000.log", "00000000000000000000.index"} {
		b, err := os.ReadFile(filepath.Join("testdata/indexed", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".index") {
			b[3] = 1 // the first entry's offset, which was 2
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "00000000000000000000.index")
	_, errs, err := dump(t, "--files", file, "--verify-index-only")
	want := "Mismatches in :" + file + "\n  Index offset: 1, log offset: 2\n"
	if err != nil || errs != want {
		t.Errorf("got %v, %q, want %q", err, errs, want)
	}
}

func TestAFirstSequenceIsCountedBackAcrossTheWrap(t *testing.T) {
	// Sequences go from 2^31-1 to 0: ten records that end at 3 begin six before 0.
	if got := firstSequence(3, 9); got != 2147483642 {
		t.Errorf("got %d", got)
	}
	if got := firstSequence(9, 9); got != 0 {
		t.Errorf("got %d", got)
	}
}
