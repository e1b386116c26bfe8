package simulation

import (
	"fmt"
	"strings"
)

// controllerListener is the name of the listener of controllers.
const controllerListener = "CONTROLLER"

// settings configure a node: small and eager, so that in ten minutes everything happens that a day brings.
func (h *host) settings() []string {
	w, name := h.world, hostName(h.id)
	set := []string{
		fmt.Sprintf("node.id=%d", h.id),
		"log.dirs=" + dataDir, "admin.address=", "disk.append.lanes=1", "disk.read.lanes=1", "num.recovery.threads.per.data.dir=1",
		"log.initial.task.delay.ms=5000", "log.flush.offset.checkpoint.interval.ms=3000",
		"replica.high.watermark.checkpoint.interval.ms=1000", "log.flush.start.offset.checkpoint.interval.ms=3000",
		"initial.broker.registration.timeout.ms=600000", "log.roll.ms=15000",
		"offsets.topic.num.partitions=2", "group.initial.rebalance.delay.ms=100", "log.segment.delete.delay.ms=2000",
	}
	if w.Size.Nodes == 1 {
		// What one node acknowledges is safe from a power cut only when it is synced first.
		return append(set, fmt.Sprintf("listeners=PLAINTEXT://%s:%d", name, brokerPort),
			"log.flush.interval.messages=1", "offsets.topic.replication.factor=1")
	}
	set = append(set,
		fmt.Sprintf("listeners=PLAINTEXT://%s:%d,%s://%s:%d", name, brokerPort, controllerListener, name, controllerPort),
		"controller.listener.names="+controllerListener, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,"+controllerListener+":PLAINTEXT",
		"inter.broker.listener.name=PLAINTEXT", "process.roles=broker,controller",
		"default.replication.factor=3", "min.insync.replicas=2", "offsets.topic.replication.factor=3",
		fmt.Sprintf("replica.lag.time.max.ms=%d", w.lagMax.Milliseconds()),
		// So that whoever was away for some seconds finds the log gone, and installs a checkpoint.
		fmt.Sprintf("metadata.log.max.record.bytes.between.snapshots=%d", w.checkpointBytes),
	)
	var voters, seeds []string
	for _, o := range w.hosts {
		at := fmt.Sprintf("%s:%d", hostName(o.id), controllerPort)
		voters, seeds = append(voters, fmt.Sprintf("%d@%s", o.id, at)), append(seeds, at)
	}
	if w.static {
		return append(set, "controller.quorum.voters="+strings.Join(voters, ","))
	}
	return append(set, "controller.quorum.bootstrap.servers="+strings.Join(seeds, ","),
		fmt.Sprintf("controller.quorum.initial.voters=%d", len(seeds)), "controller.quorum.auto.join.enable=true")
}
