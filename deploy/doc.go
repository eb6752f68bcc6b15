// Package deploy holds what the compose file mounts, and the tests of the compose file and the Dockerfile. No container
// engine is needed to run them.
package deploy
