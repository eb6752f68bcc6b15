// Package e2e proves the system with real processes: a development server, workers and command lines that are started,
// killed and started again.
//
// The tests build cmd/starter once and use the development server that EVERTURN_DEVSERVER names, or build it from
// ../devserver, which takes minutes the first time. Most tests share one server; each has a task queue and a store of its
// own, so they run in parallel. A test that kills its server has one of its own.
//
// Nothing sleeps and nothing is measured: a test waits for a condition, with a bound that only a hanging program reaches.
// With -short there are no tests here.
package e2e
