// Package image holds the cluster's metadata as of one offset of the metadata log. An Image is immutable and shared
// freely; an Editor replays records into the next one and tells what changed (a Delta).
package image

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"troupe/cluster/record"
	"troupe/internal/model"
)

// Image is the state that the records up to Offset give.
//
// Invariants, kept by Editor:
//  1. an Image and everything reachable from it never changes once published;
//  2. Topic(name) and TopicByID(id) find the same topics;
//  3. partitions of a topic are numbered 0 to n-1 without a hole;
//  4. no record of an open transaction is in it.
type Image struct {
	// ClusterID is meta.properties' cluster.id; it is in no record.
	ClusterID string
	// Offset is that of the last record in the image, -1 for none.
	Offset model.Offset
	// Epoch is the leader epoch of that record.
	Epoch model.LeaderEpoch
	// NextProducerID is the first producer id that no block covers (KIP-730).
	NextProducerID model.ProducerID

	// features holds levels above 0 only: a feature at 0 is the same as one that nobody finalized.
	features    tree[string, int16]
	brokers     tree[model.BrokerID, *Broker]
	controllers tree[model.BrokerID, *record.RegisterController]
	byName      tree[string, *Topic]
	byID        tree[model.TopicID, *Topic]
	// collisions finds topics by name with '.' read as '_', for the names that hold either.
	collisions tree[string, []string]
	configs    tree[ConfigResource, Config]
	quotas     tree[string, *quota]
	acls       tree[model.UUID, *record.AccessControlEntry]
	scram      tree[scramKey, *record.UserScramCredential]
	tokens     tree[string, *record.DelegationToken]

	// partitions counts those of all topics.
	partitions int
	// migration is the last ZooKeeper migration record, nil where there was none.
	migration *record.ZkMigrationState
}

// Topic is one incarnation of a topic.
type Topic struct {
	ID   model.TopicID
	Name string
	// Partitions is indexed by partition number.
	Partitions []*Partition
}

// Partition is the state of facts/replication.md 1. Lists may share memory with each other: read only.
type Partition struct {
	// Replicas has the preferred leader first. While replicas are moved it holds the old ones too.
	Replicas []model.BrokerID
	// ISR is what the leader last had committed; it may have proposed another since.
	ISR []model.BrokerID
	// ELR may lead once the ISR is empty, for everything acknowledged is on their disks (KIP-966).
	ELR []model.BrokerID
	// LastKnownELR is the last leader of an ISR that became empty.
	LastKnownELR []model.BrokerID
	// Adding and Removing are not empty while replicas are moved (KIP-455).
	Adding   []model.BrokerID
	Removing []model.BrokerID
	// Directories holds a log directory for each of Replicas; reserved values say unassigned, lost or migrating (KIP-858).
	Directories []model.DirectoryID
	// Leader is NoBroker when the partition is offline.
	Leader model.BrokerID
	// LeaderEpoch counts the leaderships: data written in an older one may have to go (KIP-101).
	LeaderEpoch model.LeaderEpoch
	// Epoch counts the changes of the partition (KIP-841).
	Epoch model.PartitionEpoch
	// LeaderRecoveryState is record.Recovered or record.Recovering (after an unclean election).
	LeaderRecoveryState int8
}

// Broker is a registration.
type Broker struct {
	ID model.BrokerID
	// Epoch is the offset of the registration; requests with another one come from an older process.
	Epoch model.BrokerEpoch
	// IncarnationID tells two processes with one id apart.
	IncarnationID model.UUID
	Endpoints     []record.Endpoint
	Features      []record.FeatureRange
	// Rack is nil for a broker without one.
	Rack *string
	// Fenced brokers lead nothing and are not shown to clients.
	Fenced bool
	// InControlledShutdown brokers are being relieved of what they lead.
	InControlledShutdown bool
	LogDirs              []model.DirectoryID
	CordonedLogDirs      []model.DirectoryID
	// migrating is the flag of a registration made during a migration from ZooKeeper, kept for checkpoints.
	migrating bool
}

// scramKey: a user has one credential a mechanism.
type scramKey struct {
	mechanism int8
	name      string
}

// Empty is the image before the first record.
func Empty(clusterID string) *Image {
	return &Image{
		ClusterID: clusterID,
		Offset:    model.NoOffset,
		Epoch:     model.NoLeaderEpoch,

		features:    newTree[string, int16](strings.Compare),
		brokers:     newTree[model.BrokerID, *Broker](cmp.Compare[model.BrokerID]),
		controllers: newTree[model.BrokerID, *record.RegisterController](cmp.Compare[model.BrokerID]),
		byName:      newTree[string, *Topic](strings.Compare),
		byID:        newTree[model.TopicID, *Topic](model.TopicID.Compare),
		collisions:  newTree[string, []string](strings.Compare),
		configs:     newTree[ConfigResource, Config](ConfigResource.Compare),
		quotas:      newTree[string, *quota](strings.Compare),
		acls:        newTree[model.UUID, *record.AccessControlEntry](model.UUID.Compare),
		scram:       newTree[scramKey, *record.UserScramCredential](scramKey.compare),
		tokens:      newTree[string, *record.DelegationToken](strings.Compare),
	}
}

// Topic finds a topic by name.
func (i *Image) Topic(name string) (*Topic, bool) { return i.byName.get(name) }

// TopicByID finds a topic by id.
func (i *Image) TopicByID(id model.TopicID) (*Topic, bool) { return i.byID.get(id) }

// Partition finds a partition by name and number.
func (i *Image) Partition(tp model.TopicPartition) (*Partition, bool) {
	t, ok := i.byName.get(tp.Topic)
	if !ok {
		return nil, false
	}
	return t.Partition(tp.Partition)
}

// Topics walks the topics in order of name, beginning with the first whose name is at least from ("" for all).
func (i *Image) Topics(from string) iter.Seq[*Topic] { return values(i.byName.from(from)) }

// Collision finds another topic whose name would give the same metric names: '.' and '_' are one there.
func (i *Image) Collision(name string) (string, bool) {
	key, risky := collisionKey(name)
	if !risky {
		return "", false
	}
	names, _ := i.collisions.get(key)
	for _, other := range names {
		if other != name {
			return other, true
		}
	}
	return "", false
}

// collisionKey tells whether a name can collide with any other, and under what key.
func collisionKey(name string) (key string, risky bool) {
	return strings.ReplaceAll(name, ".", "_"), strings.ContainsAny(name, "._")
}

// TopicCount is the number of topics.
func (i *Image) TopicCount() int { return i.byName.size }

// PartitionCount is the number of partitions of all topics.
func (i *Image) PartitionCount() int { return i.partitions }

// Broker finds a registration, fenced or not.
func (i *Image) Broker(id model.BrokerID) (*Broker, bool) { return i.brokers.get(id) }

// Brokers walks the registrations in order of id, the fenced ones too.
func (i *Image) Brokers() iter.Seq[*Broker] { return values(i.brokers.all()) }

// BrokerCount is the number of registrations, fenced ones included.
func (i *Image) BrokerCount() int { return i.brokers.size }

// Controllers walks the registrations of controllers in order of id.
func (i *Image) Controllers() iter.Seq[*record.RegisterController] {
	return values(i.controllers.all())
}

// Partition finds a partition by number.
func (t *Topic) Partition(n int32) (*Partition, bool) {
	if n < 0 || int(n) >= len(t.Partitions) {
		return nil, false
	}
	return t.Partitions[n], true
}

// Reassigning tells whether replicas are being added or removed.
func (p *Partition) Reassigning() bool { return len(p.Adding) > 0 || len(p.Removing) > 0 }

// Endpoint finds a broker's listener by name.
func (b *Broker) Endpoint(listener string) (record.Endpoint, bool) {
	i := slices.IndexFunc(b.Endpoints, func(e record.Endpoint) bool { return e.Name == listener })
	if i < 0 {
		return record.Endpoint{}, false
	}
	return b.Endpoints[i], true
}

// HasOnline tells whether the broker's replica of p lies in a directory that works. A broker that has not told where it
// lies is taken at its word that it lives (KIP-858).
func (b *Broker) HasOnline(p *Partition) bool {
	i := slices.Index(p.Replicas, b.ID)
	if i < 0 || i >= len(p.Directories) {
		return true
	}
	switch dir := p.Directories[i]; dir {
	case model.DirectoryUnassigned, model.DirectoryMigrating:
		return true
	case model.DirectoryLost:
		return false
	default:
		return len(b.LogDirs) == 0 || slices.Contains(b.LogDirs, dir)
	}
}

// Active tells whether the broker may lead: it is neither fenced nor shutting down.
func (b *Broker) Active() bool { return !b.Fenced && !b.InControlledShutdown }

// values drops the keys, which the values repeat.
func values[K, V any](entries iter.Seq2[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range entries {
			if !yield(v) {
				return
			}
		}
	}
}

func (k scramKey) compare(o scramKey) int {
	return cmp.Or(cmp.Compare(k.mechanism, o.mechanism), strings.Compare(k.name, o.name))
}
