package configs

import "troupe/internal/model"

// Endpoint is a host and a port. An empty host is every address of the machine where it is listened on.
type Endpoint struct {
	Host string
	Port uint16
}

// Listener is one address that the broker accepts connections on.
type Listener struct {
	Name       string // upper case
	Protocol   string // PLAINTEXT
	Bind       Endpoint
	Advertised Endpoint // what clients are told; port 0 stands for the port that was bound
	Controller bool     // serves the quorum, not clients
}

// Voter is one entry of controller.quorum.voters.
type Voter struct {
	ID model.BrokerID
	Endpoint
}
