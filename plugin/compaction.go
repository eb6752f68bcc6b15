package plugin

import (
	"errors"
	"fmt"
)

// CompactTask is the maintenance task that a definition with [Compaction] has: it compacts now. It takes no arguments
// and says what it replaced.
const CompactTask = "compact"

// Compaction keeps a conversation within its model's context window: the oldest part of the history is replaced by a
// summary that a model writes; the log keeps everything. It happens before a step whose request would be too large,
// after a provider refused one as too long, and on demand. Sizes are estimates, four characters to a token. See spec
// §9.3.
type Compaction struct {
	ThresholdRatio  float64 // of the window: a request above it is compacted first; 0 means 0.8
	RetainRatio     float64 // of the window: the latest history that is kept as it is; 0 means 0.16
	MaxTokens       int     // of a summary; 0 means 8192
	OverflowRetries int     // of a request that was refused as too long, per step; 0 means 1, negative means none
	ManualOnly      bool    // only on demand

	Provider     string // who writes the summary; empty, like Model: the conversation's route
	Model        string
	Instructions string // what the writer is told; empty means the built-in ones
}

// WithDefaults fills in what is zero.
func (c Compaction) WithDefaults() Compaction {
	if c.ThresholdRatio == 0 {
		c.ThresholdRatio = 0.8
	}
	if c.RetainRatio == 0 {
		c.RetainRatio = 0.16
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = 8192
	}
	if c.OverflowRetries == 0 {
		c.OverflowRetries = 1
	}
	return c
}

func (c Compaction) validate() error {
	c = c.WithDefaults()
	switch {
	case !(c.ThresholdRatio > 0 && c.ThresholdRatio <= 1):
		return fmt.Errorf("ThresholdRatio is %v: use a number above 0 up to 1, or 0 for 0.8", c.ThresholdRatio)
	case !(c.RetainRatio > 0 && c.RetainRatio < c.ThresholdRatio):
		return fmt.Errorf("RetainRatio is %v: use a number above 0 and below ThresholdRatio, or 0 for 0.16", c.RetainRatio)
	case c.MaxTokens < 0:
		return fmt.Errorf("MaxTokens is %d: use a positive number, or 0 for 8192", c.MaxTokens)
	case (c.Provider == "") != (c.Model == ""):
		return errors.New("either Provider or Model is missing: set both, or none for the conversation's route")
	}
	return nil
}
