// Package scripted is an [llm.Provider] that needs no network: it answers from a script or by a rule.
//
// It is the provider of an installation without a key ([Demo]), of examples and of tests. A script is text, one line per
// request; [Parse] reads it and says line, column and what it expected when it cannot.
//
//	p := scripted.New(scripted.Config{Models: map[string]scripted.Model{
//		"test": {Script: scripted.MustParse(`
//			tool c1 echo {"text":"hi"}
//			text "The tool says hi."
//		`)},
//	}})
//
// [Probes] let a test hold a stream in the middle and let it go; a [Recorder] keeps what the model was sent.
//
// # The answer of a line
//
// A line is a sequence of pieces. What follows # is a comment; a line without pieces is skipped.
//
//	answer    = piece { piece } .
//	piece     = block | fact | pause | ending .
//
//	block     = "text" string { option }
//	          | "reasoning" string { option }
//	          | "tool" id name arguments { option }     // id and name: a word or a string; "-" is the empty one
//	          | "whitespace" .                          // a text block without anything visible
//	option    = "chunks=" number                        // deltas of the block, 1 if absent
//	          | "open" .                                // leave out the block-end
//	arguments = JSON value                              // sent exactly as written
//	          | string .                                // raw text, not necessarily JSON
//
//	fact      = "usage" number number                   // input and output tokens
//	            { "cache-read=" n | "cache-write=" n | "reasoning=" n }
//	          | "no-usage"
//	          | "chunk" JSON object                     // any chunk of spec §2.3, as it is
//	          | "replay" JSON object .                  // replay state of the finish chunk
//
//	pause     = "hold" name                             // stop here until the probe is released
//	          | "delay" duration .                      // such as 20ms
//
//	ending    = "stop" | "tool-calls" | "max-tokens"    // a finish chunk
//	          | "error" code [ string ] { facts }       // a finish chunk of kind error
//	          | "abort" [ string ]                      // a finish chunk of kind aborted, code ABORTED
//	          | "throw" code [ string ] { facts }       // an error of the stream instead of a finish
//	          | "fail-start" code [ string ] { facts }  // the same before any chunk; no block may precede it
//	          | "empty"                                 // finish stop and nothing else
//	          | "cut"                                   // the stream ends without a finish
//	          | "none" .                                // the same without any chunk
//	facts     = "status=" number | "retry-after=" duration | "request-id=" word .
//
//	string    = a JSON string in double quotes
//	code      = a failure code of package llm, such as RATE_LIMIT
//
// Blocks are numbered in order. A block is one delta and a block-end; one usage and one finish chunk end the answer, so
// `text "ok"` is four chunks: text-delta, block-end, usage, finish. An answer with a tool call finishes with tool-calls,
// any other with stop. `usage` sends its numbers where it stands and replaces the usage at the end, `no-usage` leaves it
// out. error, abort, throw, cut and none send no usage of their own. Nothing but `no-usage` and `replay` may follow an
// ending.
package scripted
