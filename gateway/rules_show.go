package gateway

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// asked returns the rights at the time that a statement asks for, and the table that it names; nil if it names none.
func (v viewer) asked(a *classify.Access) (policy.Rights, *policy.Object, error) {
	base := v.base
	if !a.At.IsZero() {
		var err error
		if base, err = v.g.cfg.Grants.At(v.ctx, a.At); err != nil {
			return nil, nil, err
		}
	}
	if len(a.Objects) == 0 {
		return base, nil, nil
	}
	targets, err := v.targets(a)
	if err != nil {
		return nil, nil, err
	}
	return base, &targets[0].object, nil
}

// rules answers SHOW ROW FILTERS and SHOW MASKS: all for administrators, and for owners those of their tables.
func (v viewer) rules(a *classify.Access) ([][]string, error) {
	base, object, err := v.asked(a)
	if err != nil {
		return nil, err
	}
	if object != nil {
		ok, err := v.seesTexts(*object)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, v.denied("the row filters and masks of \"" + object.Table + "\"")
		}
	}
	may := map[policy.Object]bool{}
	var rows [][]string
	for _, r := range base.Rules(object) {
		if r.Mask != (a.Action == classify.ShowMasks) || a.Rule != nil && a.Rule.Tag != nil && (r.Tag == nil || r.Tag.Key != a.Rule.Tag.Key) {
			continue
		}
		ok, asked := may[r.Object]
		if !asked {
			if ok, err = v.seesTexts(r.Object); err != nil {
				return nil, err
			}
			may[r.Object] = ok
		}
		if ok {
			rows = append(rows, ruleRow(r))
		}
	}
	return rows, nil
}

func ruleRow(r policy.PlacedRule) []string {
	row := []string{r.Name, r.Object.String()}
	if r.Mask {
		tag := ""
		if r.Tag != nil {
			tag = r.Tag.String()
		}
		row = append(row, strings.Join(slices.Sorted(maps.Keys(r.Columns)), ", "), tag)
	}
	row = append(row, r.Expression, people(r.To), people(r.Except))
	if r.Mask {
		row = append(row, strconv.Itoa(r.Priority))
	}
	return append(row, r.By, r.At.UTC().Format(time.RFC3339))
}

// people writes principals as statements do.
func people(ps []policy.Principal) string {
	out := make([]string, len(ps))
	for i, p := range ps {
		kind, name := kindAndName(p)
		out[i] = strings.TrimSpace(strings.ToUpper(kind) + " " + name)
	}
	return strings.Join(out, ", ")
}

// seesTexts reports whether the viewer may read the texts of the filters and masks of a table, or of masks by tag.
func (v viewer) seesTexts(o policy.Object) (bool, error) {
	if v.all || o.Table == "" {
		return v.all, nil
	}
	k, err := v.knows(o)
	if err != nil || !k.exists {
		return false, err
	}
	ok, err := v.judge.Allow(v.ctx, policy.ShowTablePolicy, []policy.Resource{{
		Catalog: o.Catalog, Schema: o.Schema, Table: o.Table, Grant: &policy.GrantRequest{},
		Detail: &policy.Table{Name: classify.Name{Catalog: o.Catalog, Schema: o.Schema, Table: o.Table}, UUID: k.uuid, Columns: k.columns},
	}})
	return len(ok) == 1 && ok[0], err
}

// tags answers SHOW TAGS: of tables and columns that the viewer may know of.
func (v viewer) tags(a *classify.Access) ([][]string, error) {
	base, object, err := v.asked(a)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, t := range base.Tags(object) {
		k, err := v.knows(t.Object)
		if err != nil {
			return nil, err
		}
		if !k.exists || t.UUID != "" && t.UUID != k.uuid {
			continue // also those of a table that is gone
		}
		column := t.Column
		if t.Field > 0 {
			i := indexOf(k.columns, t.Field)
			if i < 0 {
				continue
			}
			column = k.columns[i].Name
		}
		rows = append(rows, []string{t.Object.String(), column, t.Key, t.Value})
	}
	return rows, nil
}

// knownTable is what a viewer may know of a table; zero if it does not exist for him.
type knownTable struct {
	exists  bool
	uuid    string
	columns []classify.Column
}

func (v viewer) knows(o policy.Object) (*knownTable, error) {
	k := v.known[o]
	if k == nil {
		var err error
		if k, err = v.lookUp(o); err != nil {
			return nil, err
		}
		v.known[o] = k
	}
	return k, nil
}

func (v viewer) lookUp(o policy.Object) (*knownTable, error) {
	name := classify.Name{Catalog: o.Catalog, Schema: o.Schema, Table: o.Table}
	cat, _ := v.g.catalog(o.Catalog)
	ok, err := v.seesTable(name)
	if err != nil || cat == nil || !ok && !v.all {
		return &knownTable{}, err
	}
	now, err := cat.Table(v.ctx, v.session.identity, o.Schema, o.Table)
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrUnreadable) {
		return &knownTable{}, nil // nobody knows which table it is, so nobody has anything on it
	}
	if err != nil {
		return nil, err
	}
	if !v.all {
		if ok, err = v.seesLoaded(name, now); err != nil || !ok {
			return &knownTable{}, err
		}
	}
	k := &knownTable{exists: true, uuid: now.UUID, columns: columns(now)}
	if !v.all {
		k.columns, err = v.seesColumns(name, k.uuid, k.columns)
	}
	return k, err
}
