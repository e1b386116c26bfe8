package peer

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// NewCluster prepares Troupe's nodes 1 to n as one cluster, each a broker and a controller.
func NewCluster(k Kind, folder string, n int, settings ...string) (nodes []*Broker, err error) {
	var controllers, voters []string
	for id := 1; id <= n; id++ {
		l, listenErr := net.Listen("tcp", "127.0.0.1:0")
		if listenErr != nil {
			return nil, listenErr
		}
		defer func() { err = errors.Join(err, l.Close()) }() // not sooner, so that no other gets it
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
		controllers = append(controllers, at)
		voters = append(voters, fmt.Sprintf("%d@%s", id, at))
	}
	for i, controller := range controllers {
		b, err := New(k, folder)
		if err != nil {
			return nil, errors.Join(err, RemoveAll(nodes))
		}
		b.settings = append([]string{
			fmt.Sprintf("node.id=%d", i+1), "listeners=PLAINTEXT://" + b.Address + ",CONTROLLER://" + controller,
			"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "controller.listener.names=CONTROLLER",
			"controller.quorum.voters=" + strings.Join(voters, ","), "min.insync.replicas=2",
		}, settings...)
		nodes = append(nodes, b)
	}
	return nodes, nil
}

// RemoveAll ends the processes of a cluster and removes what they wrote.
func RemoveAll(nodes []*Broker) (err error) {
	for _, b := range nodes {
		err = errors.Join(err, b.Remove())
	}
	return err
}
