// A table that sorts by any column; some columns have bars.
import { el, keyed } from "./dom";

export interface Column<Row> {
  title: string;
  value: (row: Row) => number | string;
  text?: (row: Row) => string;
  bar?: (row: Row) => number; // share of the column's width
  go?: (row: Row) => void; // the cell is a link
  wraps?: boolean; // long texts go on in a second line
}

export interface Manner<Row> {
  mark?: (row: Row) => boolean;
  more?: string; // how to see rows that there is no room for
  key?: (row: Row) => string; // tells rows apart; the first column
}

const chosen = new Map<string, { column: number; down: boolean }>();
const ROWS_MOST = 1000;

export function table<Row>(name: string, columns: Column<Row>[], rows: Row[], again: () => void, manner: Manner<Row> = {}): HTMLElement {
  const order = chosen.get(name);
  if (order && columns[order.column]) {
    const value = columns[order.column]!.value;
    rows = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))) * (order.down ? -1 : 1);
    });
  }
  const head = el("tr", {}, ...columns.map((column, place) => el("th", { scope: "col", "aria-sort": order?.column === place ? (order.down ? "descending" : "ascending") : undefined },
    el("button", { click: () => {
      chosen.set(name, { column: place, down: order?.column === place ? !order.down : true });
      again();
    } }, column.title + (order?.column === place ? (order.down ? " ▾" : " ▴") : "")))));
  const key = manner.key ?? ((row: Row) => String(columns[0]!.value(row)));
  const body = el("tbody", {}, ...rows.slice(0, ROWS_MOST).map((row) => keyed(el("tr", { class: manner.mark?.(row) ? "marked" : undefined },
    ...columns.map((column) => cell(column, row))), key(row))));
  const more = rows.length > ROWS_MOST ? el("p", { class: "quiet" }, `${rows.length - ROWS_MOST} more rows${manner.more ? `; ${manner.more}` : ""}`) : null;
  return keyed(el("div", { class: "scroll" }, el("table", { "data-table": name }, el("thead", {}, head), body), more), `table ${name}`);
}

function cell<Row>(column: Column<Row>, row: Row): HTMLElement {
  const value = column.value(row), text = column.text ? column.text(row) : typeof value === "number" ? value.toLocaleString("en") : value;
  const made = el("td", { class: typeof value === "number" ? "number" : column.wraps ? "wraps" : undefined, "data-column": column.title, "data-value": value },
    column.go ? el("a", { href: "#", click: (event) => { event.preventDefault(); column.go!(row); } }, text) : text);
  if (column.bar) {
    const bar = el("i", { class: "bar" });
    bar.style.width = `${Math.min(100, 100 * Math.max(0, column.bar(row)))}%`;
    made.append(bar);
  }
  return made;
}
