package configs

import (
	"maps"
	"strings"
	"testing"
)

func TestPropertiesAreReadAsJavaReadsThem(t *testing.T) {
	// Expected values follow from the description of java.util.Properties.load.
	for _, c := range []struct{ title, text, key, value string }{
		{"equals", "a=b", "a", "b"},
		{"colon", "a:b", "a", "b"},
		{"blank", "a b", "a", "b"},
		{"blanks round the separator", "  a \t = \t b", "a", "b"},
		{"a second separator belongs to the value", "a = =b", "a", "=b"},
		{"no value", "a", "a", ""},
		{"an escaped separator in the key", `a\=b=c`, "a=b", "c"},
		{"an escaped blank in the key", `a\ b=c`, "a b", "c"},
		{"a continued line", "a=b,\\\n   c", "a", "b,c"},
		{"a continuation of a continuation", "a=b\\\n  c\\\n\td", "a", "bcd"},
		{"two backslashes do not continue", "a=b\\\\\nc=d", "a", `b\`},
		{"a comment cannot be continued", "#a\\\nb=c", "b", "c"},
		{"a comment sign within a value", "a=b#c", "a", "b#c"},
		{"escapes", `a=b\tc\\d\qe`, "a", "b\tc\\dqe"},
		{"unicode", `a=\u00e9\u20ac`, "a", "é€"},
		{"the last one counts", "a=b\na=c", "a", "c"},
		{"windows lines", "x=y\r\na=b\r\n", "a", "b"},
		{"latin-1", "a=\xe9", "a", "é"},
		{"a continuation at the end of the file", `a=b\`, "a", "b"},
	} {
		t.Run(c.title, func(t *testing.T) {
			all, err := parseProperties("f", []byte(c.text))
			if got, set := all[c.key]; err != nil || !set || got.value != c.value {
				t.Errorf("%q was read as %v (%v), want %q=%q", c.text, all, err, c.key, c.value)
			}
		})
	}
}

func TestABrokenEscapeNamesItsLine(t *testing.T) {
	for _, text := range []string{`a=\u12`, `a=\u12g4`, `a=\u`} {
		if _, err := parseProperties("f", []byte("# first\n"+text)); err == nil || !strings.Contains(err.Error(), "f:2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestYAMLThatIsNoConfigurationIsRefusedWithItsLine(t *testing.T) {
	for _, c := range []struct{ title, text, want string }{
		{"a list at the top", "- a\n", "f:1"},
		{"a list of maps", "a:\n- {b: c}\n", "f:2"},
		{"the same key flat and nested", "a.b: 1\na: {b: 2}\n", "f:2"},
		{"the same key twice", "a: 1\na: 2\n", "2"},
		{"an alias", "a: &x 1\nb: *x\n", "f:2"},
		{"a broken document", "a: [\n", "f: "},
		{"two documents", "a: 1\n---\nb: 2\n", "one document"},
	} {
		if _, err := parseYAML("f", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.title, err, c.want)
		}
	}
}

func TestAnEmptyFileSetsNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n"} {
		for name, parse := range map[string]func(string, []byte) (settings, error){"yaml": parseYAML, "properties": parseProperties} {
			if name == "properties" && strings.HasPrefix(text, "-") {
				continue
			}
			if all, err := parse("f", []byte(text)); err != nil || len(all) != 0 {
				t.Errorf("%s %q: %v, %v", name, text, all, err)
			}
		}
	}
}

// Whatever a file of properties holds, writing out what was read and reading it again gives the same.
func FuzzProperties(f *testing.F) {
	for _, seed := range []string{"a=b", "a\\\n b", `\u0041: x`, "!c\n\\=\\:=\\#", "k\\", "a=\\u"} {
		f.Add([]byte(seed))
	}
	escape := strings.NewReplacer(`\`, `\\`, "=", `\=`, ":", `\:`, " ", `\ `, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\f", `\f`, "#", `\#`, "!", `\!`)
	f.Fuzz(func(t *testing.T, content []byte) {
		all, err := parseProperties("f", content)
		if err != nil {
			return
		}
		var out strings.Builder
		first, again := map[string]string{}, map[string]string{}
		for key, s := range all {
			first[key] = s.value
			out.WriteString(escape.Replace(key) + "=" + escape.Replace(s.value) + "\n")
		}
		all, err = parseProperties("g", []byte(out.String()))
		if err != nil {
			t.Fatal(err)
		}
		for key, s := range all {
			again[key] = s.value
		}
		if !maps.Equal(first, again) {
			t.Errorf("read %q, then %q", first, again)
		}
	})
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: {b: [c, d]}", "? [a]\n: b", "a: &x {b: c}\nd: *x", "<<: {a: b}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		all, err := parseYAML("f", content)
		if err != nil && len(all) > 0 {
			t.Errorf("a refused file gave %v", all)
		}
	})
}

func TestWhatIsWrittenAsYAMLIsReadBack(t *testing.T) {
	values := map[string]string{
		"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9192", "controller.quorum.voters": "1@[::1]:1,2@b:2",
		"broker.rack": "null", "compression.type": "~", "admin.address": "", "log.dirs": `/a b/c,C:\d`, "num.partitions": "010",
		"controller.quorum.bootstrap.servers": "#1", "log.level": "'x': {", "metadata.log.dir": "é\"", "sasl.enabled.mechanisms": "A:",
	}
	got, err := parseYAML("a.yaml", YAML(values))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range values {
		if got[key].value != want {
			t.Errorf("%s: wrote %q, read %q", key, want, got[key].value)
		}
	}
	if len(got) != len(values) {
		t.Errorf("wrote %d keys, read %d", len(values), len(got))
	}
}
