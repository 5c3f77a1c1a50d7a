// A Markdown table in the form that the formatter leaves alone.

/** The first row is the heading. Columns are left-aligned unless named in `right`. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths = rows[0]?.map((_, column) => Math.max(3, ...rows.map((row) => [...(row[column] ?? "")].length))) ?? [];
  const isRight = (column: number) => right.includes(column);
  const pad = (cell: string, column: number) => {
    const blanks = " ".repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length));
    return isRight(column) ? blanks + cell : cell + blanks;
  };
  const line = (cells: readonly string[]) => `| ${cells.map(pad).join(" | ")} |`;
  const [head = [], ...body] = rows;
  const rule = widths.map((width, column) => (isRight(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width)));
  return [line(head), line(rule), ...body.map(line)].join("\n");
}
