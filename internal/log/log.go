// Package log is how the program's edges log: zap, and the adapter that lets the Temporal SDK use it.
package log

import (
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	sdklog "go.temporal.io/sdk/log"
)

// New returns a logger that writes lines to stderr at a level: debug, info, warn, error.
func New(level string) (*zap.Logger, error) {
	var l zapcore.Level
	if err := l.Set(level); err != nil {
		return nil, err
	}
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(encoder), zapcore.Lock(os.Stderr), l)), nil
}

// Temporal lets the Temporal SDK log through z.
func Temporal(z *zap.Logger) sdklog.Logger {
	return adapter{z.WithOptions(zap.AddCallerSkip(1)).Sugar()}
}

// Silent is a logger of the Temporal SDK that says nothing.
func Silent() sdklog.Logger { return Temporal(zap.NewNop()) }

type adapter struct{ s *zap.SugaredLogger }

func (a adapter) Debug(msg string, kv ...any) { a.s.Debugw(msg, kv...) }
func (a adapter) Info(msg string, kv ...any)  { a.s.Infow(msg, kv...) }
func (a adapter) Warn(msg string, kv ...any)  { a.s.Warnw(msg, kv...) }
func (a adapter) Error(msg string, kv ...any) { a.s.Errorw(msg, kv...) }

// With returns a logger that carries more fields.
func (a adapter) With(kv ...any) sdklog.Logger { return adapter{a.s.With(kv...)} }
