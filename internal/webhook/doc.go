// Package webhook delivers a signed message to an address that somebody else chose, and only where it may.
//
// A message is one POST, signed as Standard Webhooks has it: webhook-id, the same on every try, webhook-timestamp and
// webhook-signature. A [Sender] tries once: its [*Error] says whether another try makes sense, and when.
//
// The address is not trusted. Only public addresses are called, unless the [Config] allows others; that is decided when
// the connection is made, of the address that the name had then. No redirect is followed, no proxy is asked, little of
// the answer is read, and nothing of a URL but its host is said in an error: the rest may be a secret.
package webhook
