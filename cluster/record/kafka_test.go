package record

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"troupe/codec/batch"
	"troupe/internal/model"
)

const kafkaLogs = "../testdata/kafka"

// dumped is a metadata record as Kafka's dump-log prints it.
type dumped struct {
	Type    string         `json:"type"`
	Version int16          `json:"version"`
	Data    map[string]any `json:"data"`
}

var dumpedLine = regexp.MustCompile(`^\| offset: (\d+) .* payload: (\{.*\})$`)

// dumps reads dump.txt: file name, then offset, to what Kafka says is there.
func dumps(t *testing.T, folder string) map[string]map[int64]dumped {
	t.Helper()
	f, err := os.Open(filepath.Join(kafkaLogs, folder, "dump.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]map[int64]dumped{}
	var file string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "Dumping "); ok {
			file = name
			all[file] = map[int64]dumped{}
			continue
		}
		m := dumpedLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		offset, _ := strconv.ParseInt(m[1], 10, 64)
		var d dumped
		decoder := json.NewDecoder(strings.NewReader(m[2]))
		decoder.UseNumber()
		if err := decoder.Decode(&d); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		all[file][offset] = d
	}
	return all
}

// values walks the metadata records of a file.
func values(t *testing.T, path string, f func(offset int64, value []byte)) {
	t.Helper()
	rest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(rest) > 0 {
		var v batch.View
		if v, rest, err = batch.First(rest); err != nil {
			t.Fatal(err)
		}
		if v.Control() {
			continue
		}
		err = v.Each(func(r batch.Record) error {
			f(int64(r.Offset), r.Value)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every metadata record that Kafka 4.3.1 wrote reads as Kafka itself prints it, and is written back byte for byte.
func TestRecordsOfKafkaReadAsKafkaPrintsThem(t *testing.T) {
	kinds := map[Key]int{}
	for _, folder := range []string{"dynamic", "static"} {
		for file, want := range dumps(t, folder) {
			if len(want) == 0 {
				continue
			}
			found := 0
			values(t, filepath.Join(kafkaLogs, folder, file), func(offset int64, value []byte) {
				found++
				name := fmt.Sprintf("%s/%s offset %d", folder, file, offset)
				r, version, err := DecodeVersion(value)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				kinds[r.Key()]++
				d := want[offset]
				if kafkaName(r.Key()) != d.Type || version != d.Version {
					t.Errorf("%s: read %s version %d, Kafka says %s version %d", name, r.Key(), version, d.Type, d.Version)
				}
				if why := differs(reflect.ValueOf(r).Elem(), reflect.ValueOf(r.Key().fresh()).Elem(), d.Data); why != "" {
					t.Errorf("%s: %s: %s", name, d.Type, why)
				}
				back, err := AppendVersion(nil, r, version)
				if err != nil || !bytes.Equal(back, value) {
					t.Errorf("%s: written back as %x (%v), was %x", name, back, err, value)
				}
			})
			if found != len(want) {
				t.Errorf("%s/%s: %d records, Kafka prints %d", folder, file, found, len(want))
			}
		}
	}
	for _, k := range []Key{
		KeyRegisterBroker, KeyTopic, KeyPartition, KeyConfig, KeyPartitionChange, KeyRemoveTopic, KeyUserScramCredential,
		KeyFeatureLevel, KeyClientQuota, KeyProducerIDs, KeyBrokerRegistrationChange, KeyAccessControlEntry,
		KeyRemoveAccessControlEntry, KeyNoOp, KeyRemoveUserScramCredential, KeyBeginTransaction, KeyEndTransaction,
		KeyRegisterController,
	} {
		if kinds[k] == 0 {
			t.Errorf("no %s in the logs", k)
		}
	}
}

// kafkaName is "FooBarRecord" as the dump writes it: FOO_BAR_RECORD.
func kafkaName(k Key) string {
	return strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(k.String(), "${1}_${2}"))
}

// renamed are the fields whose Go name does not spell the schema's.
var renamed = map[string]string{
	"Topic.ID": "topicid", "RemoveTopic.ID": "topicid", "FeatureLevel.Level": "featurelevel", "ClientQuota.QuotaKey": "key",
	"QuotaEntity.Type": "entitytype", "QuotaEntity.Name": "entityname", "ZkMigrationState.State": "zkmigrationstate",
}

// differs compares a structure with what was printed. A field that was not printed must have its default.
func differs(got, defaults reflect.Value, printed map[string]any) string {
	byName := map[string]any{}
	for name, v := range printed {
		byName[strings.ToLower(name)] = v
	}
	for i := range got.NumField() {
		name := got.Type().Field(i).Name
		key := strings.ToLower(name)
		if other, ok := renamed[got.Type().Name()+"."+name]; ok {
			key = other
		}
		want, there := byName[key]
		delete(byName, key)
		if !there {
			if !reflect.DeepEqual(got.Field(i).Interface(), defaults.Field(i).Interface()) {
				return fmt.Sprintf("%s = %v was not printed", name, got.Field(i))
			}
			continue
		}
		if why := differsValue(got.Field(i), want); why != "" {
			return name + ": " + why
		}
	}
	if len(byName) > 0 {
		return fmt.Sprintf("%v has no field", byName)
	}
	return ""
}

func differsValue(got reflect.Value, want any) string {
	text := fmt.Sprint(want)
	same := false
	switch v := got.Interface().(type) {
	case model.UUID:
		same = v.String() == text
	case []byte:
		same = base64.StdEncoding.EncodeToString(v) == text
	case *string:
		same = v == nil && want == nil || v != nil && want != nil && *v == text
	case float64:
		f, err := want.(json.Number).Float64()
		same = err == nil && f == v
	default:
		switch got.Kind() {
		case reflect.Slice:
			return differsList(got, want)
		case reflect.Struct:
			return differs(got, reflect.Zero(got.Type()), want.(map[string]any))
		}
		same = fmt.Sprint(v) == text
	}
	if !same {
		return fmt.Sprintf("%v, Kafka prints %v", got, want)
	}
	return ""
}

func differsList(got reflect.Value, want any) string {
	list, ok := want.([]any)
	if !ok || len(list) != got.Len() {
		return fmt.Sprintf("%v, Kafka prints %v", got, want)
	}
	for i := range list {
		if why := differsValue(got.Index(i), list[i]); why != "" {
			return fmt.Sprintf("[%d]: %s", i, why)
		}
	}
	return ""
}
