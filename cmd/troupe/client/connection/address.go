package connection

import (
	"regexp"
	"strings"

	"troupe/cmd/troupe/client/option"
)

// hostPort lets a protocol stand before the host, and an IPv6 address in or without brackets, as Kafka's pattern does.
var hostPort = regexp.MustCompile(`^(?:.*?\[?[0-9a-zA-Z\-%._:]*\]?):[0-9]+$`)

// CheckAddresses is the check of the scripts that refuse malformed addresses before they try them. The Java client, which
// the other scripts leave it to, would skip a name that does not resolve as long as another one does (see resolve).
func CheckAddresses(bootstrap string) error {
	if strings.TrimSpace(bootstrap) == "" {
		return option.Fail("Error while validating the bootstrap address")
	}
	for _, addr := range strings.Split(strings.TrimRight(bootstrap, ","), ",") {
		if !hostPort.MatchString(addr) {
			return option.Fail("Please provide valid host:port like host1:9091,host2:9092")
		}
	}
	return nil
}
