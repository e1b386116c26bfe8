package configs

import (
	"math"
	"reflect"
	"time"
)

// decode fills the fields of a struct, and of the structs within it, that are tagged with a key. A null value leaves
// its field zero. A field whose kind does not fit its key is a bug, and reflect panics.
func decode(into any, value func(key string) (any, Key, error)) error {
	return decodeStruct(reflect.ValueOf(into).Elem(), value)
}

// decodeStruct goes into the groups of fields: the struct is grouped for its readers, while keys are flat.
func decodeStruct(target reflect.Value, value func(key string) (any, Key, error)) error {
	for i := range target.NumField() {
		field := target.Field(i)
		name, tagged := target.Type().Field(i).Tag.Lookup("key")
		if !tagged {
			// Groups of fields have no key of their own.
			if field.Kind() == reflect.Struct {
				if err := decodeStruct(field, value); err != nil {
					return err
				}
			}
			continue
		}
		v, key, err := value(name)
		if err != nil {
			return err
		}
		if v != nil {
			assign(field, v, key.Unit)
		}
	}
	return nil
}

// assign stores whole numbers in fields of any width: the key's type has bounded them.
func assign(field reflect.Value, v any, unit string) {
	n, whole := v.(int64)
	switch {
	case !whole:
		field.Set(reflect.ValueOf(v))
	case field.Type() == reflect.TypeFor[time.Duration]():
		field.SetInt(int64(duration(n, unit)))
	default:
		field.SetInt(n)
	}
}

// units are those that Kafka's key names end in; a number without one is no duration.
var units = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "minutes": time.Minute, "hours": time.Hour}

// duration saturates: Kafka writes "never" as the greatest number of milliseconds.
func duration(n int64, unit string) time.Duration {
	one := units[unit]
	if n > int64(math.MaxInt64/one) {
		return math.MaxInt64
	}
	return max(time.Duration(n), math.MinInt64/one) * one
}
