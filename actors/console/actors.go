package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"troupe/actors/kit"
)

// branch is an actor, or a part of actors' names that is no actor itself ("disks"), with what lies below it.
type branch struct {
	kit.ActorInfo
	Below    *sums     `json:"below,omitempty"`
	Children []*branch `json:"children,omitempty"`
}

// sums are over all actors below a branch, whether they are listed or not.
type sums struct {
	Actors   int    `json:"actors"`
	Depth    int    `json:"depth"`
	Handled  uint64 `json:"handled"`
	Restarts uint32 `json:"restarts"`
	Busy     int    `json:"busy"`
}

// actorsAnswer is what GET /actors gives. Handled grows while it is written: At tells rates.
type actorsAnswer struct {
	At     int64     `json:"at"`     // Unix time in milliseconds
	Total  int       `json:"total"`  // actors in all
	Shown  int       `json:"shown"`  // actors that the filters let through
	Actors []*branch `json:"actors"` // the top of the tree, or the list that ?top= asks for
}

// actorsFilter is the query of GET /actors.
type actorsFilter struct {
	kind   string
	under  string // name of a branch
	top    int    // as a list: the deepest mailboxes, then those that handled most; 0 for the tree
	levels int    // of the tree, counted from its top; 0 for all
}

// actors answers GET /actors. The list is made anew for each answer and cut down afterwards: a branch's sums are over all
// that the filters let through.
func (s *Server) actors(w http.ResponseWriter, r *http.Request) {
	f, err := parseActorsFilter(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	all := s.deps.System.Tree()
	kept := f.apply(all)
	a := actorsAnswer{At: s.deps.Node.Clock.Now().UnixMilli(), Total: len(all), Shown: len(kept)}
	if f.top > 0 {
		a.Actors = busiest(kept, f.top)
	} else {
		a.Actors = grow(kept)
		if f.levels > 0 {
			prune(a.Actors, f.levels)
		}
	}
	answer(w, a)
}

func parseActorsFilter(q url.Values) (actorsFilter, error) {
	f := actorsFilter{kind: q.Get("kind"), under: strings.TrimSuffix(q.Get("under"), "/")}
	var err error
	if f.top, err = count(q, "top"); err != nil {
		return f, err
	}
	f.levels, err = count(q, "levels")
	return f, err
}

// count reads a whole number from 1; 0 when the query has none.
func count(q url.Values, key string) (int, error) {
	text := q.Get(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s=%s: want a whole number from 1", key, text)
	}
	return n, nil
}

func (f actorsFilter) apply(all []kit.ActorInfo) []kit.ActorInfo {
	return slices.DeleteFunc(all, func(a kit.ActorInfo) bool {
		return f.kind != "" && a.Kind != f.kind ||
			f.under != "" && a.Name != f.under && !strings.HasPrefix(a.Name, f.under+"/")
	})
}

// busiest ranks by what waits: an actor that cannot keep up shows there, however many messages others handle.
func busiest(list []kit.ActorInfo, n int) []*branch {
	slices.SortStableFunc(list, func(a, b kit.ActorInfo) int {
		return cmp.Or(cmp.Compare(b.Depth, a.Depth), cmp.Compare(b.Handled, a.Handled))
	})
	top := make([]*branch, 0, min(n, len(list)))
	for _, a := range list[:cap(top)] {
		top = append(top, &branch{ActorInfo: a})
	}
	return top
}

// grow makes the tree of a list ordered by name. The names are paths.
func grow(list []kit.ActorInfo) []*branch {
	root := &branch{Children: []*branch{}}
	known := map[string]*branch{"": root}
	for _, a := range list {
		place(known, a.Name).ActorInfo = a
	}
	root.sum()
	return root.Children
}

// place finds the branch of a name, or adds it with all that lead to it.
func place(known map[string]*branch, name string) *branch {
	if b := known[name]; b != nil {
		return b
	}
	parent := ""
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		parent = name[:i]
	}
	b := &branch{ActorInfo: kit.ActorInfo{Name: name}}
	known[name] = b
	above := place(known, parent)
	above.Children = append(above.Children, b)
	return b
}

// sum fills Below in the whole branch.
func (b *branch) sum() {
	if len(b.Children) == 0 {
		return
	}
	b.Below = &sums{}
	for _, c := range b.Children {
		c.sum()
		b.Below.add(c)
	}
}

// add counts an actor and all below it; a part of a path that is no actor has only what is below.
func (s *sums) add(c *branch) {
	if c.Kind != "" {
		s.Actors++
		s.Depth += c.Depth
		s.Handled += c.Handled
		s.Restarts += c.Restarts
		if c.Busy {
			s.Busy++
		}
	}
	if o := c.Below; o != nil {
		s.Actors += o.Actors
		s.Depth += o.Depth
		s.Handled += o.Handled
		s.Restarts += o.Restarts
		s.Busy += o.Busy
	}
}

// prune cuts the tree below so many levels. The sums stay, which is how the page shows 10,000 replicas as 16 lines.
func prune(bs []*branch, levels int) {
	for _, b := range bs {
		if levels == 1 {
			b.Children = nil
			continue
		}
		prune(b.Children, levels-1)
	}
}

// panicActor is for fault tests: the actor of that name panics on its next message.
func (s *Server) panicActor(w http.ResponseWriter, r *http.Request) {
	if !s.deps.Panics {
		http.Error(w, "fault tests are off: the broker was not started with test.panics=true", http.StatusForbidden)
		return
	}
	name := r.FormValue("name")
	ref, found := s.deps.System.Find(name)
	if !found {
		http.Error(w, fmt.Sprintf("there is no actor of the name %q (parameter name)", name), http.StatusNotFound)
		return
	}
	ref.Panic()
	w.WriteHeader(http.StatusAccepted)
}
