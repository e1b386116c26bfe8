// Package level knows the releases of Kafka 4.3.1 and its features, which are this program's own tables: what levels a
// release stands for, and how they are named.
package level

// Release is a level of metadata.version. Each adds records or fields to the metadata log, so a cluster is raised to it
// only when all its nodes know it (KIP-778).
type Release struct {
	Level int16
	Name  string
	// Stable tells whether a bare release number ("4.3") may mean it.
	Stable bool
}

// releases are the levels of metadata.version that 4.3.1 knows.
var releases = []Release{
	{7, "3.3-IV3", true},
	{8, "3.4-IV0", true},
	{9, "3.5-IV0", true},
	{10, "3.5-IV1", true},
	{11, "3.5-IV2", true},
	{12, "3.6-IV0", true},
	{13, "3.6-IV1", true},
	{14, "3.6-IV2", true},
	{15, "3.7-IV0", true},
	{16, "3.7-IV1", true},
	{17, "3.7-IV2", true},
	{18, "3.7-IV3", true},
	{19, "3.7-IV4", true},
	{20, "3.8-IV0", true},
	{21, "3.9-IV0", true},
	{22, "4.0-IV0", true},
	{23, "4.0-IV1", true},
	{24, "4.0-IV2", true},
	{25, "4.0-IV3", true},
	{26, "4.1-IV0", true},
	{27, "4.1-IV1", true},
	{28, "4.2-IV0", true},
	{29, "4.2-IV1", true},
	{30, "4.3-IV0", true},
	{31, "4.4-IV0", false},
}

// Level is one level of a feature, with the metadata.version that begins to set it for new clusters.
type Level struct {
	Number, Since int16
	// Needs is the least metadata.version, where there is one.
	Needs int16
}

// Feature is a feature besides metadata.version, in the order the script lists them.
type Feature struct {
	Name   string
	Levels []Level
}

// Known are the features of 4.3.1 besides metadata.version (KIP-1022). They stand for: kraft.version KIP-853,
// transaction.version KIP-890, group.version KIP-848, eligible.leader.replicas.version KIP-966, share.version KIP-932,
// streams.version KIP-1071.
var Known = []Feature{
	{"kraft.version", []Level{{0, 7, 0}, {1, 21, 0}}},
	{"transaction.version", []Level{{0, 7, 0}, {1, 24, 0}, {2, 24, 0}}},
	{"group.version", []Level{{0, 7, 0}, {1, 22, 0}}},
	{"eligible.leader.replicas.version", []Level{{0, 7, 0}, {1, 26, 23}}},
	{"share.version", []Level{{0, 7, 0}, {1, 28, 0}}},
	{"streams.version", []Level{{0, 7, 0}, {1, 29, 0}}},
}
