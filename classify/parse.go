package classify

// Parse classifies text. Its errors are *SyntaxError, *UnsupportedError or *NameError.
func Parse(text string) (*Statement, error) {
	return nil, &UnsupportedError{Construct: "everything", Pos: -1}
}
