package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Serving is the line printed on standard output, and the content of the address file. Fields are only ever added.
type Serving struct {
	Address   string `json:"address"`             // of the server's gRPC frontend, host:port
	UIAddress string `json:"uiAddress,omitempty"` // URL of the web UI; absent when headless
	Database  string `json:"database"`            // absolute path, or "memory"
	Namespace string `json:"namespace"`           // registered and ready
	PID       int    `json:"pid"`                 // of this process
	ParentPID int    `json:"parentPid,omitempty"` // of the one with which it ends, if it ends with one
}

// announce prints the serving line and keeps it in the file at path, if any.
func (s Serving) announce(w io.Writer, path string) error {
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if path != "" {
		if err := writeFileAtomically(path, line); err != nil {
			return fmt.Errorf("write the address file: %w (choose another --address-file)", err)
		}
	}
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("print the serving line: %w", err)
	}
	return nil
}

// withdraw removes the address file if it is still this process's own.
func withdraw(path string) {
	if path == "" {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var s Serving
	if json.Unmarshal(text, &s) == nil && s.PID == os.Getpid() {
		_ = os.Remove(path)
	}
}

// removeStale removes an address file that a killed server left behind, so that nobody takes it for this one's.
func removeStale(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil
	case err == nil && info.IsDir():
		err = fmt.Errorf("%s is a folder", path)
	case err == nil:
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("remove the old address file: %w (choose another --address-file)", err)
	}
	return nil
}

func writeFileAtomically(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails once the file has its name
	if _, err := temp.Write(content); err != nil {
		_ = temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
