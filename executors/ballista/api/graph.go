package api

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"gatehouse/executors/ballista"
)

// graph is a job's stages, for both pictures.
type graph struct {
	title  string
	stages []box
}

// box is one stage.
type box struct {
	id    int32
	state string
	nodes []node
	notes []string
}

// node is one operator.
type node struct {
	name  string // as Ballista numbers it: the stage's, and the place among the children of each operator above
	label string
	depth int32
	reads []int32 // stages
}

func newGraph(j *ballista.Job) graph {
	word, _ := status(j)
	g := graph{title: "job " + j.ID + " of " + j.User + ": " + word}
	for _, s := range ordered(j.Progress) {
		b := box{id: s.Id, state: stageStates[s.State]}
		var path []string // the names of the operators above
		children := map[string]int{}
		for _, o := range s.Operators {
			depth := min(int(o.Depth), len(path))
			name := fmt.Sprintf("stage_%d_0", s.Id)
			if depth > 0 {
				parent := path[depth-1]
				name = fmt.Sprintf("%s_%d", parent, children[parent])
				children[parent]++
			}
			path = append(path[:depth], name)
			b.nodes = append(b.nodes, node{name: name, label: label(j, o), depth: int32(depth), reads: o.Stages})
		}
		if n := len(s.Tasks); n > 0 {
			b.notes = append(b.notes, fmt.Sprintf("%s, %s in, %s out", counted(int64(n), "task"), counted(s.InputRows, "row"), counted(s.OutputRows, "row")))
			bytes := fmt.Sprintf("%s shuffled", size(s.ShuffledBytes))
			if s.ReadBytes > 0 {
				bytes = size(s.ReadBytes) + " read, " + bytes
			}
			if s.SpilledBytes > 0 {
				bytes += ", " + size(s.SpilledBytes) + " spilled"
			}
			b.notes = append(b.notes, bytes)
		}
		g.stages = append(g.stages, b)
	}
	return g
}

func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// dot is the graph in Graphviz's language, in Ballista's form.
func dot(g graph) string {
	var b, links strings.Builder
	b.WriteString("digraph G {\n")
	for i, s := range g.stages {
		fmt.Fprintf(&b, "\tsubgraph cluster%d {\n\t\tlabel = \"Stage %d [%s]\";\n", i, s.id, s.state)
		for _, n := range s.nodes {
			fmt.Fprintf(&b, "\t\t%s [shape=box, label=\"%s\"]\n", n.name, quoted(n.label))
			if n.depth > 0 {
				fmt.Fprintf(&b, "\t\t%s -> %s\n", n.name, n.name[:strings.LastIndexByte(n.name, '_')])
			}
			for _, from := range n.reads {
				fmt.Fprintf(&links, "\tstage_%d_0 -> %s\n", from, n.name)
			}
		}
		b.WriteString("\t}\n")
	}
	return b.String() + links.String() + "}\n"
}

// quoted keeps a name of a table inside of its quotes.
func quoted(s string) string {
	return strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", " ", "\r", " ").Replace(s)
}

// The measures of the picture, in pixels.
const (
	lineHeight = 16
	charWidth  = 7
	indent     = 14
	padding    = 12
	gapX       = 36
	gapY       = 46
)

// placed is a box with its place.
type placed struct {
	box
	x, y, w, h int
}

// svg draws the stages, those first that read no other, each layer below the ones that it reads.
func svg(g graph) string {
	boxes, width, height := layout(g)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="monospace" font-size="12">`, width, height, width, height)
	b.WriteString(`<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#445"/></marker></defs>`)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>`)
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-weight="bold">%s</text>`, padding, padding+lineHeight, html.EscapeString(g.title))
	at := map[int32]placed{}
	for _, p := range boxes {
		at[p.id] = p
	}
	for _, p := range boxes {
		for _, from := range p.sources() {
			if q, ok := at[from]; ok {
				x1, y1, x2, y2 := q.x+q.w/2, q.y+q.h, p.x+p.w/2, p.y
				mid := (y1 + y2) / 2
				fmt.Fprintf(&b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="#445" marker-end="url(#a)"/>`, x1, y1, x1, mid, x2, mid, x2, y2)
			}
		}
	}
	for _, p := range boxes {
		p.draw(&b)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// colours of stages by state.
var colours = map[string]string{"Unresolved": "#f4f4f4", "Resolved": "#eef3fb", "Running": "#fff6d9", "Successful": "#e8f6e8", "Failed": "#fbe3e3"}

func (p placed) draw(b *strings.Builder) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="5" fill="%s" stroke="#445"/>`, p.x, p.y, p.w, p.h, colours[p.state])
	y := p.y + padding + lineHeight - 4
	text := func(x int, style, s string) {
		fmt.Fprintf(b, `<text x="%d" y="%d"%s xml:space="preserve">%s</text>`, x, y, style, html.EscapeString(s))
		y += lineHeight
	}
	text(p.x+padding, ` font-weight="bold"`, p.title())
	for _, n := range p.nodes {
		text(p.x+padding+int(n.depth)*indent, "", n.label)
	}
	for _, n := range p.notes {
		text(p.x+padding, ` fill="#556"`, n)
	}
}

func (s *box) title() string { return fmt.Sprintf("Stage %d [%s]", s.id, s.state) }

// sources are the stages that a stage reads.
func (s *box) sources() []int32 {
	var out []int32
	for _, n := range s.nodes {
		out = append(out, n.reads...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *box) measure() (w, h int) {
	longest := len([]rune(s.title()))
	for _, n := range s.notes {
		longest = max(longest, len([]rune(n)))
	}
	w = longest * charWidth
	for _, n := range s.nodes {
		w = max(w, int(n.depth)*indent+len([]rune(n.label))*charWidth)
	}
	return w + 2*padding + 8, (1+len(s.nodes)+len(s.notes))*lineHeight + 2*padding
}

// layout puts the stages into layers.
func layout(g graph) (boxes []placed, width, height int) {
	layers := layered(g.stages)
	y := 2*padding + 2*lineHeight
	width = len([]rune(g.title))*charWidth + 3*padding + 20
	for _, layer := range layers {
		x, tallest := padding, 0
		for _, s := range layer {
			w, h := s.measure()
			boxes = append(boxes, placed{s, x, y, w, h})
			x, tallest = x+w+gapX, max(tallest, h)
		}
		width = max(width, x-gapX+padding)
		y += tallest + gapY
	}
	if len(layers) > 0 {
		y -= gapY
	}
	return boxes, width, y + padding
}

// layered puts each stage one layer below the last of those that it reads.
func layered(all []box) [][]box {
	by := map[int32]*box{}
	for i := range all {
		by[all[i].id] = &all[i]
	}
	depth := map[int32]int{}
	var measure func(s *box, seen int) int
	measure = func(s *box, seen int) int {
		if d, ok := depth[s.id]; ok {
			return d
		}
		d := 0
		for _, from := range s.sources() {
			if q := by[from]; q != nil && seen < len(all) { // more steps than stages would be a circle
				d = max(d, measure(q, seen+1)+1)
			}
		}
		depth[s.id] = d
		return d
	}
	var out [][]box
	for i := range all {
		d := measure(&all[i], 0)
		for len(out) <= d {
			out = append(out, nil)
		}
		out[d] = append(out[d], all[i])
	}
	return out
}
