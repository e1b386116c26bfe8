package integration

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/tests/wire"
)

// names is so many that comparing each with each takes a minute, while a pass over them takes a fraction of a second.
const names = 200_000

// A controller that is at work for minutes on one request is one that nobody else has.
func TestARequestOfVeryManyNamesIsAnsweredInSeconds(t *testing.T) {
	address := broker(t)
	conn := wire.Dial(t, address)
	there := createTopic(t, address, 1)
	within := func(t *testing.T, ask func() int16, want *kerr.Error) {
		t.Helper()
		began := time.Now()
		if got := ask(); got != want.Code {
			t.Errorf("answered %v, want %v", kerr.ErrorForCode(got), want)
		}
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("answered after %v", took)
		}
	}
	list := make([]string, names)
	for i := range list {
		list[i] = fmt.Sprintf("n%x", i)
	}
	t.Run("topics to be created by Metadata", func(t *testing.T) {
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = true
		for _, name := range list {
			req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &name})
		}
		// More than 10,000 partitions are not made by one request.
		within(t, func() int16 { return wire.On[*kmsg.MetadataResponse](conn, wire.Versioned(req, 9)).Topics[0].ErrorCode }, kerr.PolicyViolation)
	})
	t.Run("settings of a topic", func(t *testing.T) {
		one := kmsg.NewIncrementalAlterConfigsRequestResource()
		one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeTopic, there.name
		for _, name := range list {
			one.Configs = append(one.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: name, Value: text("1")})
		}
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = append(req.Resources, one)
		within(t, func() int16 {
			return wire.On[*kmsg.IncrementalAlterConfigsResponse](conn, wire.Versioned(req, 1)).Resources[0].ErrorCode
		}, kerr.InvalidConfig)
	})
	t.Run("settings that replace a topic's", func(t *testing.T) {
		one := kmsg.NewAlterConfigsRequestResource()
		one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeTopic, there.name
		for _, name := range list {
			one.Configs = append(one.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: name, Value: text("1")})
		}
		req := kmsg.NewPtrAlterConfigsRequest()
		req.Resources = append(req.Resources, one)
		within(t, func() int16 {
			return wire.On[*kmsg.AlterConfigsResponse](conn, wire.Versioned(req, 2)).Resources[0].ErrorCode
		}, kerr.InvalidConfig)
	})
	t.Run("settings of a new topic", func(t *testing.T) {
		one := newTopic(freshName(), 1, 1)
		for _, name := range list {
			one = configured(one, name, text("1"))
		}
		within(t, func() int16 { return create(conn, false, one)[0].ErrorCode }, kerr.InvalidConfig)
	})
	t.Run("as many elements of one setting as a string holds", func(t *testing.T) {
		all := strings.Join(list, ",")
		one := configured(newTopic(freshName(), 1, 1), "cleanup.policy", text(all[:strings.LastIndexByte(all[:math.MaxInt16], ',')]))
		within(t, func() int16 { return create(conn, false, one)[0].ErrorCode }, kerr.InvalidConfig)
	})
}
