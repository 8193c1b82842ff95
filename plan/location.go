package plan

import "gatehouse/catalog"

// LocalPath returns the path of a local file of a scan, by taking the scheme off and decoding nothing. The planner has checked
// that it lies in a folder that tables may read.
func LocalPath(location string) (string, error) { return catalog.LocalPath(location) }
