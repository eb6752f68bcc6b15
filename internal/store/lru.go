package store

import (
	"container/list"
	"sync"
)

// lru is a bounded map that forgets what was not used for the longest time. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	mu    sync.Mutex
	max   int
	order *list.List // of *lruEntry, most recent first
	byKey map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](max int) *lru[K, V] {
	return &lru[K, V]{max: max, order: list.New(), byKey: map[K]*list.Element{}}
}

// get calls use with the value of key, while nobody else can touch it.
func (c *lru[K, V]) get(key K, use func(V)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.byKey[key]
	if !ok {
		return false
	}
	c.order.MoveToFront(el)
	use(el.Value.(*lruEntry[K, V]).value)
	return true
}

func (c *lru[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byKey[key]; ok {
		el.Value.(*lruEntry[K, V]).value = value
		c.order.MoveToFront(el)
		return
	}
	c.byKey[key] = c.order.PushFront(&lruEntry[K, V]{key, value})
	for c.order.Len() > c.max {
		c.drop(c.order.Back())
	}
}

// trim keeps only the most recent `keep` values that match.
func (c *lru[K, V]) trim(keep int, match func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for el := c.order.Front(); el != nil; {
		next := el.Next()
		if match(el.Value.(*lruEntry[K, V]).value) {
			if keep--; keep < 0 {
				c.drop(el)
			}
		}
		el = next
	}
}

func (c *lru[K, V]) drop(el *list.Element) {
	delete(c.byKey, el.Value.(*lruEntry[K, V]).key)
	c.order.Remove(el)
}

func (c *lru[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}
