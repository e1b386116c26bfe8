package kafkatext

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The expected values of the tests of numbers and order were printed by Java 17.

func TestFixedNumbersAreRoundedHalfUp(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0.125, 2, "0.13"}, {0.25, 1, "0.3"}, {2.675, 2, "2.68"}, {99.95, 1, "100.0"}, {1963.8648859, 6, "1963.864886"},
		{2.5, 0, "3"}, {0.005, 2, "0.01"}, {-0.125, 2, "-0.13"}, {7, 2, "7.00"}, {math.NaN(), 2, "NaN"},
	} {
		if got := Fixed(c.v, c.digits); got != c.want {
			t.Errorf("%v with %d digits: got %s, want %s", c.v, c.digits, got, c.want)
		}
	}
}

func TestKeysComeInTheOrderOfAHashMap(t *testing.T) {
	keys := strings.Fields("a t1 my.topic some_topic orders payments users x y zz events-long-name p1 p3 __consumer_offsets")
	want := strings.Fields("zz a p1 p3 payments events-long-name my.topic users some_topic x y orders t1 __consumer_offsets")
	if got := HashOrder(keys, 0); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := HashOrder([]string{"orders", "payments", "users"}, 3); !slices.Equal(got, []string{"orders", "users", "payments"}) {
		t.Errorf("made for three keys: %v", got)
	}
	if got := StringHash("héllo€𝄞"); got != 403414152 {
		t.Errorf("hash %d", got)
	}
}

func TestAPropertyFileIsReadAsJavaReadsIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.properties")
	text := "# comment\n! comment\n  a=1\nb : two words \nc three\nd=\\u00e9\\t\\=\ne=long \\\n   line\npath=C:\\\\x\\\\\nalone\nk\\ ey=v\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := Properties{"a": "1", "b": "two words ", "c": "three", "d": "é\t=", "e": "long line", "path": `C:\x\`, "alone": "", "k ey": "v"}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: got %q, want %q", key, got[key], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %q", got)
	}
}

func TestAMalformedEscapeNamesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(file, []byte(`a=\u12`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func TestATopicFilterMatchesWholeNames(t *testing.T) {
	f, err := NewTopicFilter(` "orders, pay.*" `)
	if err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]bool{"orders": true, "payments": true, "orders2": false, "reorders": false} {
		if f.Matches(topic) != want {
			t.Errorf("%s: %t", topic, !want)
		}
	}
	if _, err := NewTopicFilter("["); err == nil || err.Error() != "[ is an invalid regex." {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerWithoutAMessageHasTheJavaClientsText(t *testing.T) {
	failure := Answer(3, nil).(*Failure)
	want := "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic-partition."
	if failure.Qualified() != want {
		t.Errorf("got %s", failure.Qualified())
	}
	message := "Topic 'a' already exists."
	if got := Answer(36, &message).Error(); got != message {
		t.Errorf("got %s", got)
	}
	if err := Answer(0, nil); err != nil {
		t.Errorf("code 0 is the error %v", err)
	}
}
