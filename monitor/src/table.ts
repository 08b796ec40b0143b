// A table that sorts by any column; some columns have bars.
import { el } from "./dom";

export interface Column<Row> {
  title: string;
  value: (row: Row) => number | string;
  text?: (row: Row) => string;
  bar?: (row: Row) => number; // share of the column's width
}

const chosen = new Map<string, { column: number; down: boolean }>();
const ROWS_MOST = 1000;

export function table<Row>(name: string, columns: Column<Row>[], rows: Row[], again: () => void, mark?: (row: Row) => boolean): HTMLElement {
  const order = chosen.get(name);
  if (order) {
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
  const body = el("tbody", {}, ...rows.slice(0, ROWS_MOST).map((row) => el("tr", { class: mark?.(row) ? "marked" : undefined }, ...columns.map((column) => {
    const value = column.value(row);
    const cell = el("td", { class: typeof value === "number" ? "number" : undefined, "data-column": column.title, "data-value": value },
      column.text ? column.text(row) : typeof value === "number" ? value.toLocaleString("en") : value);
    if (column.bar) {
      const bar = el("i", { class: "bar" });
      bar.style.width = `${Math.min(100, 100 * Math.max(0, column.bar(row)))}%`;
      cell.append(bar);
    }
    return cell;
  }))));
  const more = rows.length > ROWS_MOST ? el("p", { class: "quiet" }, `${rows.length - ROWS_MOST} more rows; choose ranks above to see others`) : null;
  return el("div", { class: "scroll" }, el("table", { "data-table": name }, el("thead", {}, head), body), more);
}
