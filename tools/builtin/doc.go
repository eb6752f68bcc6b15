// Package builtin holds the tools every agent can be given: echo, now, list_files, read_file, write_file,
// read_artifact, delegate and ask_user.
//
// The file tools see one folder, the workspace, and nothing else. Paths are relative to it; a path, a `..` or a symbolic
// link that leads out of it is refused by the operating system call itself ([os.Root]), so a link swapped in between a
// check and its use changes nothing. Whoever chooses the workspace is trusted; whoever writes the arguments is not.
//
// [All] is the usual entry; [Echo], [Now], [ListFiles], [ReadFile] and [WriteFile] make them one by one. [ReadArtifact]
// needs to know where artefacts are stored, [Delegate] which kinds of agents there are; [AskUser] needs people who answer.
package builtin

import (
	"errors"

	"github.com/everturn/everturn/tools"
)

// All returns every built-in tool but [ReadArtifact], [Delegate] and [AskUser]. workspace is an existing folder; without one
// there are no file tools.
func All(workspace string) ([]*tools.Tool, error) {
	all := []*tools.Tool{Echo(), Now(nil)}
	if workspace == "" {
		return all, nil
	}
	list, err1 := ListFiles(workspace)
	read, err2 := ReadFile(workspace)
	write, err3 := WriteFile(workspace)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return append(all, list, read, write), nil
}
