package architecture

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// handler is the declaration of one API in actors/api.
type handler struct {
	key    int
	name   string
	fields map[string]bool
	doc    string
}

// handlers finds the declarations `var x = &Handler{Key: …, Name: …}` of a file.
func handlers(s source) []handler {
	var found []handler
	for _, decl := range s.file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if kind, ok := literal.Type.(*ast.Ident); !ok || kind.Name != "Handler" {
				return true
			}
			h := handler{fields: map[string]bool{}, doc: d.Doc.Text()}
			for _, element := range literal.Elts {
				h.take(element)
			}
			found = append(found, h)
			return false
		})
	}
	return found
}

func (h *handler) take(element ast.Expr) {
	pair, ok := element.(*ast.KeyValueExpr)
	if !ok {
		return
	}
	field := pair.Key.(*ast.Ident).Name
	h.fields[field] = true
	value, ok := pair.Value.(*ast.BasicLit)
	switch {
	case !ok:
	case field == "Key":
		h.key, _ = strconv.Atoi(value.Value)
	case field == "Name":
		h.name, _ = strconv.Unquote(value.Value)
	}
}

// The folder is the table of what is covered: 00_produce.go, 01_fetch.go and so on, one API key a file.
func TestOneAPIKeyAFile(t *testing.T) {
	keys := map[int]string{}
	for _, s := range sources(t, func(s source) bool { return s.dir() == "actors/api" && !s.test() }) {
		declared := handlers(s)
		if len(declared) > 1 {
			t.Errorf("%s declares %d APIs", s.path, len(declared))
		}
		for _, h := range declared {
			if want := fmt.Sprintf("%02d_%s.go", h.key, snake(h.name)); s.base() != want {
				t.Errorf("%s holds %s, key %d: it belongs in %s", s.path, h.name, h.key, want)
			}
			if other, twice := keys[h.key]; twice {
				t.Errorf("%s and %s both hold key %d", other, s.path, h.key)
			}
			keys[h.key] = s.path
			h.check(t, s)
		}
		if len(declared) == 0 && s.base()[0] >= '0' && s.base()[0] <= '9' {
			t.Errorf("%s is named after an API and holds none", s.path)
		}
	}
}

// check wants the versions and errors at the top, the operation that is authorized, and the ordering key or the
// word that there is none.
func (h handler) check(t *testing.T, s source) {
	t.Helper()
	doc := strings.ToLower(h.doc)
	if !strings.Contains(doc, "version") || !strings.Contains(doc, "error") {
		t.Errorf("%s: the comment above %s tells its versions and its errors", s.path, h.name)
	}
	if !h.fields["Access"] {
		t.Errorf("%s: %s names no operation and resource to authorize", s.path, h.name)
	}
	if !h.fields["Order"] && !strings.Contains(doc, "barrier") {
		t.Errorf("%s: %s has no ordering key and does not say that it is a barrier", s.path, h.name)
	}
}

// snake writes a name of the protocol as file names are written.
func snake(name string) string {
	return strings.ToLower(camel.ReplaceAllString(name, "${1}_${2}"))
}
