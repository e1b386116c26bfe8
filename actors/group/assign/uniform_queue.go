package assign

import (
	"cmp"
	"slices"
)

// seat is a member's place in a queue.
type seat struct {
	load   int
	member int32
}

// queue is a heap of members by load, those with equal loads by number.
type queue struct {
	seats []seat
	order func(a, b seat) int
}

func leastFirst(a, b seat) int {
	return cmp.Or(cmp.Compare(a.load, b.load), cmp.Compare(a.member, b.member))
}

func mostFirst(a, b seat) int {
	return cmp.Or(cmp.Compare(b.load, a.load), cmp.Compare(a.member, b.member))
}

// queue is over the loads of now: it is told of changes by add.
func (p *plan) queue(members []int32, order func(a, b seat) int) *queue {
	q := &queue{order: order}
	for _, m := range members {
		q.seats = append(q.seats, seat{p.loads[m], m})
	}
	slices.SortFunc(q.seats, order) // sorted is one form of a heap
	return q
}

func (q *queue) top() seat { return q.seats[0] }

// add changes the load of the top, which then finds its new place.
func (q *queue) add(n int) {
	q.seats[0].load += n
	q.sink()
}

// drop takes the top out.
func (q *queue) drop() {
	last := len(q.seats) - 1
	q.seats[0] = q.seats[last]
	q.seats = q.seats[:last]
	q.sink()
}

func (q *queue) sink() {
	for at := 0; ; {
		next := 2*at + 1
		if next >= len(q.seats) {
			return
		}
		if right := next + 1; right < len(q.seats) && q.order(q.seats[right], q.seats[next]) < 0 {
			next = right
		}
		if q.order(q.seats[at], q.seats[next]) <= 0 {
			return
		}
		q.seats[at], q.seats[next] = q.seats[next], q.seats[at]
		at = next
	}
}
