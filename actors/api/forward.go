package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
)

// forward hands a request to the controller, which answers it when what it changed is committed and applied here.
func forward(n *Node, r *Request) {
	n.Controller.SendCaused(r.Cause, &controller.Request{
		Body: r.Body,
		Done: func(resp kmsg.Response) { r.Reply(resp) },
	})
}

// adminHandler is an API that the controller answers: a barrier on its connection, as administration is.
func adminHandler(key int16, name string, low, high int16, on Listeners, access Access) *Handler {
	return &Handler{Key: key, Name: name, Min: low, Max: high, On: on, Access: access, Handle: forward}
}
