package peer

import "slices"

// places are the addresses at which a node may be, by link, the likeliest first. An empty list says that it has no such
// listener, or that it is not known.
type places [linkCount][]Address

// add puts in what a source knows.
func (p *places) add(n *Node) {
	for l, at := range [linkCount]Address{Controller: n.Controller, Broker: n.Broker} {
		if at != (Address{}) && !slices.Contains(p[l], at) {
			p[l] = append(p[l], at)
		}
	}
}

func (p *places) equal(o *places) bool {
	return slices.EqualFunc(p[:], o[:], slices.Equal[[]Address])
}

// first is the likeliest address, the zero Address where there is none.
func (p *places) first(l Link) Address {
	if len(p[l]) == 0 {
		return Address{}
	}
	return p[l][0]
}

// after is the address to try when nobody was met at the one given.
func (p *places) after(l Link, at Address) Address {
	i := slices.Index(p[l], at)
	return p[l][(i+1)%len(p[l])]
}
