// Package browser proves that a person who has only the Temporal UI can follow up, steer, decide, cancel and dispose.
//
// A headless Chromium shows the UI of a development server. The test uses it as people do: what is not visible is not
// clicked, and what is sent is copied from what the UI shows. The judge is the agent's log, which the test reads through
// the client. With -update the pictures of docs/temporal-ui.md are taken anew.
//
// Without Chromium (Debian's package chromium) the test is skipped, except in CI.
package browser
