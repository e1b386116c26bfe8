// Package configs reads, checks and explains configuration: what the broker starts with, what is changed while it
// runs, and what a topic overrides. Names, units, types and defaults are Kafka's 4.3 (facts/broker-configs.csv,
// facts/topic-configs.csv); every key of the tables has an effect, or says why it has none.
//
// A value comes from the first of: the topic's override, this broker's dynamic value, the dynamic default of all
// brokers, the static one (flag, environment, file, in this order), the default.
package configs

//go:generate go test -run TestGeneratedFilesAreFresh -update .

// Type is how a value is written and compared; the numbers are those of DescribeConfigs (KIP-569).
type Type int8

// The types of values.
const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3 // 32 bits
	Short    Type = 4 // 16 bits
	Long     Type = 5 // 64 bits
	Double   Type = 6
	List     Type = 7 // texts between commas
	Class    Type = 8 // a Java class in Kafka
	Password Type = 9 // never shown
)

// Mode says how a broker key may change while brokers run (KIP-226).
type Mode int8

// The modes. A cluster-wide key may also be set for one broker; a per-broker key never for all.
const (
	ReadOnly Mode = iota
	PerBroker
	ClusterWide
	PerResource // the key belongs to a topic, group, quota entity or metrics subscription
)

// Effect says what Troupe makes of a key.
type Effect int8

// The effects. Of a refused key only the default is taken, so a value never promises what will not happen.
const (
	Acts Effect = iota
	Accepted
	Refused
)

// Importance is Kafka's own ranking.
type Importance int8

// The ranks.
const (
	High Importance = iota
	Medium
	Low
)

// Key describes one configuration key.
//
// Invariants, which a test keeps:
//  1. Default parses by Type and Valid, unless Null.
//  2. A key that acts is held by a field of Broker or Topic, or is worked into one by Resolve.
//  3. Reason is empty exactly when the key acts.
//
// Reason says why it is accepted without effect or refused, and what to use
// instead.
type Key struct {
	Name       string
	Type       Type
	Default    string
	Null       bool // the default is null: there is no value until one is set
	Valid      Rule
	Unit       string // of numbers: ms, s, minutes, hours, bytes, messages
	Mode       Mode
	Importance Importance
	Effect     Effect
	Reason     string
	Doc        string
	Internal   bool // DescribeConfigs of Kafka 4.3 leaves it out: internal, of 4.4, or of before 4.0
	Own        bool // Kafka has no such key
}

// Sensitive tells whether the value is hidden from every reader.
func (k Key) Sensitive() bool { return k.Type == Password }
