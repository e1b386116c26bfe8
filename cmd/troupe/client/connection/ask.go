package connection

import (
	"context"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/cmd/troupe/client/kafkatext"
)

// A request is what kmsg calls RequestWith of a request: it sends the request by someone, and its answer has the
// request's own type, so that no command needs to cast.
type request[R any] func(context.Context, kmsg.Requestor) (R, error)

// Ask sends a request under Call's rules to whichever broker should have it. Errors are those of the connection: the
// error codes in the answer are the caller's to read.
func Ask[R any](ctx context.Context, c *Client, name string, send request[R]) (answer R, err error) {
	err = c.Call(ctx, name, func(ctx context.Context) (err error) {
		answer, err = send(ctx, c)
		return refused(answer, err)
	})
	return answer, err
}

// AskSettled is Ask where an answer may say that it comes too early, for who leads, or follows, is just changing: that is asked
// again, as the Java client does. fault reads the error in an answer.
func AskSettled[R any](ctx context.Context, c *Client, name string, send request[R], fault func(R) error) (answer R, err error) {
	err = c.Call(ctx, name, func(ctx context.Context) (err error) {
		if answer, err = send(ctx, c); err != nil {
			return refused(answer, err)
		}
		return fault(answer)
	})
	return answer, err
}

// AskNode is Ask of one particular broker: what ApiVersions or DescribeLogDirs tell is true of that broker alone.
func AskNode[R any](ctx context.Context, c *Client, to *kgo.Broker, name string, send request[R]) (answer R, err error) {
	err = c.Call(ctx, name, func(ctx context.Context) (err error) {
		answer, err = send(ctx, retrying{to})
		return refused(answer, err)
	})
	return answer, err
}

// refused puts it in the Java client's words that no broker takes a request; kgo's own name neither request nor broker.
func refused(answer any, err error) error {
	response, ok := answer.(kmsg.Response)
	if !ok || !Unsupported(err) {
		return err
	}
	name := wordStart.ReplaceAllString(kmsg.NameForKey(response.Key()), "${1}${3}_${2}${4}")
	return unsupported(strings.ToUpper(name))
}

func unsupported(request string) error {
	return &kafkatext.Failure{Code: kerr.UnsupportedVersion.Code, Text: "The node does not support " + request}
}

// wordStart is where Kafka's names of requests have an underscore: DescribeUserSCRAMCredentials is
// DESCRIBE_USER_SCRAM_CREDENTIALS, and DescribeACLs is DESCRIBE_ACLS.
var wordStart = regexp.MustCompile("([a-z])([A-Z])|([A-Z])([A-Z][a-z][a-z])")

// retrying makes a kgo broker a Requestor; its own method of that name does not retry after a connection was cut.
type retrying struct{ to *kgo.Broker }

func (r retrying) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return r.to.RetriableRequest(ctx, req)
}

// endpointControllers asks DescribeCluster for the controllers (KIP-919).
const endpointControllers = 2

// Nodes asks for the nodes of the cluster: its brokers, or the controllers when those are asked. fenced includes the
// fenced brokers (KIP-1073). An error code of the answer is an error here.
func Nodes(ctx context.Context, c *Client, name string, fenced bool) (*kmsg.DescribeClusterResponse, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = fenced
	if c.controllers {
		req.EndpointType = endpointControllers
	}
	answer, err := Ask(ctx, c, name, req.RequestWith)
	if err == nil {
		err = kafkatext.Answer(answer.ErrorCode, answer.ErrorMessage)
	}
	return answer, err
}

// NewApiVersions is the request under this client's name: brokers count clients by it (KIP-511).
func NewApiVersions() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "troupe", "client"
	return req
}
