package storage

import (
	"crypto/rand"
	"net"
	"strconv"
	"strings"

	"troupe/cmd/troupe/client/option"
	"troupe/codec/batch"
	"troupe/configs"
	"troupe/internal/model"
)

// voters gives those that the quorum begins with, nil where none are named: the node alone, or --initial-controllers.
func (c *format) voters(node *configs.Broker, standalone bool) ([]batch.Voter, error) {
	switch {
	case standalone && !node.Roles.Controller:
		return nil, option.Fail("You cannot use --standalone on a broker node.")
	case standalone:
		return alone(node)
	case c.initial.Given():
		return parseVoters(c.initial.Last(), node.Quorum.Listener)
	}
	return nil, nil
}

func alone(node *configs.Broker) ([]batch.Voter, error) {
	id, err := model.NewUUID(rand.Reader)
	if err != nil {
		return nil, err
	}
	for _, l := range node.Listeners {
		if l.Controller {
			host := l.Advertised.Host
			if host == "" {
				host = "localhost"
			}
			end := batch.VoterEndpoint{Name: l.Name, Host: host, Port: l.Advertised.Port}
			return []batch.Voter{{ID: node.NodeID, DirectoryID: id, MostKRaftVersion: 1, Endpoints: []batch.VoterEndpoint{end}}}, nil
		}
	}
	return nil, option.Fail("No controller listeners found.")
}

// parseVoters reads ID@HOST:PORT:DIRECTORY between commas.
func parseVoters(text, listener string) (voters []batch.Voter, err error) {
	for _, each := range strings.Split(text, ",") {
		bad := option.Fail("Invalid voter %s: ID@HOST:PORT:DIRECTORY is expected, such as 0@example.com:8082:JEXY6aqzQY-32P5TStzaFg", each)
		id, rest, ok := strings.Cut(strings.TrimSpace(each), "@")
		number, err := strconv.ParseInt(id, 10, 32)
		end := strings.LastIndexByte(rest, ':')
		if !ok || err != nil || number < 0 || end < 0 {
			return nil, bad
		}
		directory, err := model.ParseUUID(rest[end+1:])
		if err != nil {
			return nil, bad
		}
		host, port, err := net.SplitHostPort(rest[:end])
		if err != nil {
			return nil, bad
		}
		p, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, bad
		}
		voters = append(voters, batch.Voter{
			ID: model.BrokerID(number), DirectoryID: directory, MostKRaftVersion: 1,
			Endpoints: []batch.VoterEndpoint{{Name: listener, Host: host, Port: uint16(p)}},
		})
	}
	return voters, nil
}
