package record

import (
	"troupe/codec/flexible"
	"troupe/internal/model"
)

// brokerIDs is a list that may be empty but not null.
func brokerIDs(c *flexible.Coder, v *[]model.BrokerID) {
	flexible.Array(c, v, false, 4, func(id *model.BrokerID) { flexible.Int32(c, id) })
}

// nullableBrokerIDs is a list whose null says "not given": in a change record, "leave as it is".
func nullableBrokerIDs(c *flexible.Coder, v *[]model.BrokerID) {
	flexible.Array(c, v, true, 4, func(id *model.BrokerID) { flexible.Int32(c, id) })
}
