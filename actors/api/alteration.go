package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"troupe/actors/controller"
)

// alterForm is what AlterConfigs and IncrementalAlterConfigs say differently.
type alterForm[Asked, Answer any] struct {
	// refuse says why the i-th resource is not passed on.
	refuse func(i int) error
	// answer is that of a resource that was refused.
	answer func(i int, err error) Answer
	// forward makes the request for what is left, and answers takes its reply apart.
	forward func([]Asked) kmsg.Request
	answers func(kmsg.Response) []Answer
	reply   func([]Answer)
}

// relay answers each resource on its own, in the order of the request, whoever answered it. The controller is asked once,
// so that what it takes of a request is one change.
func relay[Asked, Answer any](n *Node, r *Request, resources []Asked, f alterForm[Asked, Answer]) {
	told := make([]Answer, len(resources))
	var rest []Asked
	var forwarded []int // places in the request of what the controller is asked
	for i := range resources {
		if err := f.refuse(i); err != nil {
			told[i] = f.answer(i, err)
			continue
		}
		forwarded = append(forwarded, i)
		rest = append(rest, resources[i])
	}
	if len(rest) == 0 {
		f.reply(told)
		return
	}
	n.Controller.SendCaused(r.Cause, &controller.Request{Body: f.forward(rest), Done: func(answer kmsg.Response) {
		for i, res := range f.answers(answer) {
			told[forwarded[i]] = res
		}
		f.reply(told)
	}})
}
