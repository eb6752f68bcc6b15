package explore

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/driver"
)

// A namer gives message ids new names in the order in which it sees them.
type namer map[string]string

func (n namer) of(id string) string {
	if n[id] == "" {
		n[id] = fmt.Sprintf("n%d", len(n))
	}
	return n[id]
}

func (n namer) all(list []string) {
	for i := range list {
		list[i] = n.of(list[i])
	}
}

func (n namer) pending(list []driver.Pending) {
	for i := range list {
		list[i].ID = n.of(list[i].ID)
	}
}

// event renames the messages of an insert, a move or a replacement; of a replaced one only its place counts.
func (n namer) event(e string) string {
	switch {
	case strings.HasPrefix(e, "ISm"):
		head, ids, _ := strings.Cut(strings.TrimSuffix(e, ")"), ":")
		list := strings.Split(ids, ",")
		n.all(list)
		return head + ":" + strings.Join(list, ",")
	case strings.HasPrefix(e, "IS+"):
		head, id, _ := strings.Cut(strings.TrimSuffix(e, ")"), ":")
		return head + ":" + n.of(id)
	case strings.HasPrefix(e, "ISr"):
		head, ids, _ := strings.Cut(strings.TrimSuffix(e, ")"), ":")
		old, id, _ := strings.Cut(ids, "→")
		return head + ":" + n.of(old) + "→" + n.of(id)
	default:
		return e
	}
}

func compare(a, b string) int { return strings.Compare(a, b) }
