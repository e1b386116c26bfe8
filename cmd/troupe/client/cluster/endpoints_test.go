package cluster

import (
	"bytes"
	"testing"
)

// The tables are those of kafka-cluster list-endpoints 4.3.1.
func TestEndpointsStandInColumns(t *testing.T) {
	rack := "rack-number-one"
	for _, c := range []struct {
		endpoints   []endpoint
		controllers bool
		want        string
	}{
		{
			[]endpoint{{1, "127.0.0.1", 16092, nil, false, "broker"}}, false,
			"ID         HOST      PORT       RACK       STATE      ENDPOINT_TYPE  \n" +
				"1          127.0.0.1 16092      null       unfenced   broker         \n",
		},
		{
			[]endpoint{{1, "127.0.0.1", 16093, nil, false, "controller"}}, true,
			"ID         HOST      PORT       RACK       ENDPOINT_TYPE  \n" +
				"1          127.0.0.1 16093      null       controller     \n",
		},
		{
			[]endpoint{{2, "a", 1, &rack, true, "broker"}, {3, "bb", 2, nil, false, "broker"}}, false,
			"ID         HOST PORT       RACK            STATE      ENDPOINT_TYPE  \n" +
				"2          a  1          rack-number-one fenced     broker         \n" +
				"3          bb 2          null            unfenced   broker         \n",
		},
	} {
		var b bytes.Buffer
		printEndpoints(&b, c.endpoints, c.controllers)
		if b.String() != c.want {
			t.Errorf("got\n%swant\n%s", b.String(), c.want)
		}
	}
}
