package webhook

// Public is public, for tests.
var Public = public
