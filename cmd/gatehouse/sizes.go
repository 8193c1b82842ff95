package main

import "fmt"

// The keys of the configuration whose values are sizes.
const (
	engineMemory  = "executor.memory"
	processMemory = "executor.process"
	engineSpill   = "executor.spill"
	engineCopies  = "executor.copies"
	above         = "executor.above"
	resultSize    = "limits.result_size"
	userMemory    = "limits.user_memory"
	userSpill     = "limits.user_spill"
)

// sizes returns the bytes of each size that is set, by key.
func (c Config) sizes() (map[string]int64, error) {
	out := map[string]int64{}
	for key, text := range c.sizeTexts() {
		n, err := parseBytes(text)
		if err != nil {
			return nil, fmt.Errorf("%s %w", key, err)
		}
		out[key] = n
	}
	return out, nil
}

func (c Config) sizeTexts() map[string]string {
	return map[string]string{
		engineMemory: c.Executor.Memory, processMemory: c.Executor.Process, engineSpill: c.Executor.Spill, engineCopies: c.Executor.Copies,
		above: c.Executor.Above, resultSize: c.Limits.ResultSize, userMemory: c.Limits.UserMemory, userSpill: c.Limits.UserSpill,
	}
}
