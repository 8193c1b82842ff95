package classify

// The actions on row filters, masks and tags.
const (
	CreateFilter Action = "create_row_filter"
	AlterFilter  Action = "alter_row_filter"
	DropFilter   Action = "drop_row_filter"
	CreateMask   Action = "create_mask"
	AlterMask    Action = "alter_mask"
	DropMask     Action = "drop_mask"
	SetTag       Action = "set_tag"
	UnsetTag     Action = "unset_tag"
	ShowFilters  Action = "show_row_filters"
	ShowMasks    Action = "show_masks"
	ShowTags     Action = "show_tags"
)

// Tag is a key with a value that a table or column bears, or that a mask is bound to.
type Tag struct {
	Key   string
	Value string
	Any   bool // of a mask: whatever the value
}

// Rule is what a statement says of a row filter or a mask, as written. The table is the statement's object; a mask by tag has none.
type Rule struct {
	Names    []string // DROP takes several
	Replace  bool     // OR REPLACE
	Columns  []string // that a mask is bound to
	Tag      *Tag     // that a mask is bound to instead
	Using    string   // the expression's text, never parsed here; "" if the statement has none
	Pos      int      // where Using stands
	To       []Grantee
	Except   []Grantee
	Nobody   bool // EXCEPT NONE
	Priority *int
}

// IsMask reports whether an action is about a mask.
func (a Action) IsMask() bool { return a == CreateMask || a == AlterMask || a == DropMask }
