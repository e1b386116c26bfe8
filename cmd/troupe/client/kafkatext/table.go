package kafkatext

import (
	"fmt"
	"io"
	"strings"
)

// Table writes rows in columns padded to their widest cell, each followed by a tab, as ToolsUtils.prettyPrintTable.
func Table(w io.Writer, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s\t", width[i], cell)
		}
		b.WriteByte('\n')
	}
	io.WriteString(w, b.String())
}
