package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/tests/bench/load"
	"troupe/tests/bench/peer"
)

// keyed is what is compacted: records of 1 KiB of which the newest tenth survives.
const (
	keyedTopic  = "keyed"
	keyedBytes  = 1024
	survivors   = 10 // one in so many
	keyedParts  = 2
	cleanWithin = 10 * time.Minute
)

// cleanerSettings have a cleaner look often, so that its rest is not measured.
var cleanerSettings = []string{"log.cleaner.backoff.ms=1000"}

// compaction measures the cleaner: its cost, what producers notice of it, and what is left of very many commits.
func compaction(b *bench) error {
	return b.each(cleaning, cleaningUnderLoad, commitsOfOne)
}

// keyedData fills a topic that is not compacted yet.
func (b *bench) keyedData(broker *peer.Broker) error {
	if err := load.CreateTopics(broker.Address, keyedParts, keyedTopic); err != nil {
		return err
	}
	if err := load.SetTopic(broker.Address, keyedTopic, "segment.bytes", "33554432", "min.cleanable.dirty.ratio", "0.01"); err != nil {
		return err
	}
	each := b.keyed / keyedParts
	return load.FillKeyed(broker.Address, keyedTopic, keyedParts, each/keyedBytes/survivors, each)
}

// compact switches compaction on and waits until the logs are small.
func (b *bench) compact(broker *peer.Broker) error {
	if err := load.SetTopic(broker.Address, keyedTopic, "cleanup.policy", "compact"); err != nil {
		return err
	}
	most := int64(b.keyed)/survivors*3/2 + keyedParts*33554432 // the segments in use are left alone
	return awaitSize(broker, keyedTopic, most)
}

// awaitSize waits until the segments of a topic hold at most so many bytes.
func awaitSize(broker *peer.Broker, topic string, most int64) error {
	for deadline := time.Now().Add(cleanWithin); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		if size, err := sizeOf(broker, topic); err != nil || size <= most {
			return err
		}
	}
	size, err := sizeOf(broker, topic)
	return errors.Join(err, fmt.Errorf("%s holds %d bytes after %v", topic, size, cleanWithin))
}

// sizeOf counts segments alone: indexes are allocated beforehand, at different sizes.
func sizeOf(broker *peer.Broker, topic string) (size int64, err error) {
	files, err := filepath.Glob(filepath.Join(broker.Data(), topic+"-*", "*.log"))
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if errors.Is(err, os.ErrNotExist) {
			continue // was cleaned meanwhile
		}
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// cleaning lets nothing else happen meanwhile, so that all the CPU of the broker is the cleaner's, but for what an idle
// broker takes.
func cleaning(b *bench, k peer.Kind) error {
	return b.withBroker(k, func(broker *peer.Broker) error {
		if err := b.keyedData(broker); err != nil {
			return err
		}
		began := time.Now()
		m, err := observe(broker, func() (load.Done, error) { return load.Done{}, b.compact(broker) })
		if err != nil {
			return err
		}
		what := fmt.Sprintf("compaction of %d MB of 1 KiB values, 10 %% survive, ", b.keyed/1e6)
		perGB := m.cpu.Seconds() / (float64(b.keyed) / 1e9)
		note("  %s: %s%v, %.2f CPU s/GB, %.0f MiB", k.Name, what, time.Since(began), perGB, m.resident)
		b.report.add(what+"CPU s/GB", k.Name, perGB, goal{ratioAtMost: 0.5})
		b.report.add(what+"s", k.Name, time.Since(began).Seconds(), goal{})
		b.report.add(what+"resident MiB", k.Name, m.resident, goal{})
		return nil
	}, cleanerSettings...)
}

// cleaningUnderLoad compares the latency of produces while the cleaner works with the one before.
func cleaningUnderLoad(b *bench, k peer.Kind) error {
	return b.withBroker(k, func(broker *peer.Broker) error {
		if err := b.keyedData(broker); err != nil {
			return err
		}
		if err := load.CreateTopics(broker.Address, partitions, "beside"); err != nil {
			return err
		}
		beside := load.Latency{Connections: 2, PerSecond: 500, RecordBytes: 512, Acks: 1}
		if _, err := beside.Run(broker.Address, "beside", b.load); err != nil { // warms up
			return err
		}
		quiet, err := beside.Run(broker.Address, "beside", b.load)
		if err != nil {
			return err
		}
		cleaned := make(chan error, 1)
		go func() { cleaned <- b.compact(broker) }()
		meanwhile, err := beside.Run(broker.Address, "beside", b.load)
		if err = errors.Join(err, <-cleaned); err != nil {
			return err
		}
		before, during := quiet.Latency.Quantile(.99), meanwhile.Latency.Quantile(.99)
		note("  %s: produce p99 %v quiet, %v while the cleaner works", k.Name, before, during)
		b.report.add("produce p99 while the cleaner works, ms", k.Name, float64(during.Microseconds())/1000, goal{})
		b.report.add("produce p99 while the cleaner works, against the quiet one", k.Name, float64(during)/float64(before), goal{atMost: 2})
		return nil
	}, cleanerSettings...)
}

// commitsOfOne commits over and over for one group and looks at what is left on the disk.
func commitsOfOne(b *bench, k peer.Kind) error {
	const partitions, mostMiB = 100, 5
	return b.withBroker(k, func(broker *peer.Broker) error {
		if err := load.CreateTopics(broker.Address, partitions, "read"); err != nil {
			return err
		}
		done, err := load.FillOffsets(broker.Address, "read", partitions, 1, b.commits/partitions)
		if err != nil {
			return err
		}
		before, err := sizeOf(broker, "__consumer_offsets")
		if err != nil {
			return err
		}
		began := time.Now()
		if err := awaitSize(broker, "__consumer_offsets", mostMiB<<20); err != nil {
			return err
		}
		after, err := sizeOf(broker, "__consumer_offsets")
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%d commits of one group, segments of 1 MiB, ", b.commits)
		note("  %s: %swritten in %v, %d MiB, %v later %d KiB", k.Name, what, done.Took, before>>20, time.Since(began), after>>10)
		b.report.add(what+"left MiB", k.Name, float64(after)/(1<<20), goal{atMost: mostMiB})
		b.report.add(what+"s until that is so", k.Name, time.Since(began).Seconds(), goal{})
		b.report.add(what+"commits/s", k.Name, float64(b.commits)/done.Took.Seconds(), goal{})
		return nil
	}, append([]string{"offsets.topic.num.partitions=1", "offsets.topic.segment.bytes=1048576"}, cleanerSettings...)...)
}
