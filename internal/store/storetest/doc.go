// Package storetest proves stores and breaks them.
//
// [Run] is the conformance test that every kind of store passes. [Faults] puts failures between a store and its driver:
//
//	faults := storetest.NewFaults()
//	s, err := store.Open(ctx, "mem://", store.Options{Wrap: faults.Wrap})
//	faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "segments/"}, errors.New("disk on fire"), 2)
//
// Faults are tried in the order they were set; each acts on the operations it matches until its times are used up.
package storetest
