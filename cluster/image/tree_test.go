package image

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The tree behaves as a map that is walked in order, every older version of it included.
func TestATreeIsAnOrderedMapThatForgetsNoVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := newTree[int, int](cmp.Compare[int])
		plain := map[int]int{}
		type version struct {
			tree  intTree
			plain map[int]int
		}
		var versions []version
		for i := range rapid.IntRange(0, 200).Draw(t, "steps") {
			key := rapid.IntRange(0, 40).Draw(t, "key")
			if rapid.IntRange(0, 2).Draw(t, "action") == 0 {
				tree = tree.without(key)
				delete(plain, key)
			} else {
				tree = tree.with(key, i)
				plain[key] = i
			}
			versions = append(versions, version{tree, maps.Clone(plain)})
		}
		for _, v := range versions {
			keys := slices.Sorted(maps.Keys(v.plain))
			var walked []int
			for k, value := range v.tree.all() {
				walked = append(walked, k)
				if got, ok := v.tree.get(k); !ok || got != value || v.plain[k] != value {
					t.Fatalf("key %d is %d, walked as %d, should be %d", k, got, value, v.plain[k])
				}
			}
			if !slices.Equal(keys, walked) || v.tree.size != len(keys) {
				t.Fatalf("walked %v, want %v, size %d", walked, keys, v.tree.size)
			}
			first := rapid.IntRange(-1, 42).Draw(t, "from")
			for k := range v.tree.from(first) {
				if k < first {
					t.Fatalf("%d came from %d on", k, first)
				}
				keys = slices.DeleteFunc(keys, func(x int) bool { return x == k })
			}
			if i, _ := slices.BinarySearch(keys, first); i != len(keys) {
				t.Fatalf("%v were left out from %d on", keys[i:], first)
			}
			checkHeights(t, v.tree.root)
		}
	})
}

type intTree = tree[int, int]

func checkHeights(t *rapid.T, n *node[int, int]) int8 {
	if n == nil {
		return 0
	}
	l, r := checkHeights(t, n.left), checkHeights(t, n.right)
	if l-r > 1 || r-l > 1 || n.height != 1+max(l, r) {
		t.Fatalf("node %d: heights %d and %d, noted %d", n.key, l, r, n.height)
	}
	return n.height
}
