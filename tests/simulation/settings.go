package simulation

import (
	"fmt"
	"strings"
)

// settings configure a node: small and eager, so that in ten minutes everything happens that a day brings.
func (h *host) settings() []string {
	name := hostName(h.id)
	set := []string{
		fmt.Sprintf("node.id=%d", h.id),
		"log.dirs=/data", "admin.address=", "disk.append.lanes=1", "disk.read.lanes=1", "num.recovery.threads.per.data.dir=1",
		"log.initial.task.delay.ms=5000", "log.flush.offset.checkpoint.interval.ms=3000",
		"replica.high.watermark.checkpoint.interval.ms=1000", "log.flush.start.offset.checkpoint.interval.ms=3000",
		"initial.broker.registration.timeout.ms=600000", "log.roll.ms=15000",
		"offsets.topic.num.partitions=2", "group.initial.rebalance.delay.ms=100",
	}
	if h.world.Size.Nodes == 1 {
		// What one node acknowledges is safe from a power cut only when it is synced first.
		return append(set, fmt.Sprintf("listeners=PLAINTEXT://%s:%d", name, brokerPort),
			"log.flush.interval.messages=1", "offsets.topic.replication.factor=1")
	}
	var voters []string
	for _, o := range h.world.hosts {
		voters = append(voters, fmt.Sprintf("%d@%s:%d", o.id, hostName(o.id), controllerPort))
	}
	return append(set,
		fmt.Sprintf("listeners=PLAINTEXT://%s:%d,CONTROLLER://%s:%d", name, brokerPort, name, controllerPort),
		"controller.listener.names=CONTROLLER", "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name=PLAINTEXT", "process.roles=broker,controller",
		"controller.quorum.voters="+strings.Join(voters, ","),
		"default.replication.factor=3", "min.insync.replicas=2", "offsets.topic.replication.factor=3",
	)
}

// clusterID is given by whoever formats a cluster's directories.
func (h *host) clusterID() string { return "c2ltdWxhdGlvbi1zZWVkcw" }
