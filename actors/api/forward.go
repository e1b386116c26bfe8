package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
)

// forward hands a request to the controller, which answers it when what it changed is committed and applied here. One that
// another node has forwarded goes no further.
func forward(n *Node, r *Request) {
	n.Controller.SendCaused(r.Cause, &controller.Request{
		Body: r.Body, Local: r.Client.Peer != nil,
		Done: func(resp kmsg.Response) { r.Reply(resp) },
	})
}
