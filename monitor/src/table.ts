// A table that sorts by any column; some columns have bars. Its cells take new figures in place; no element is created again.
import { el, keyed } from "./dom";
import { part } from "./renew";

export interface Column<Row> {
  title: string;
  value: (row: Row) => number | string;
  text?: (row: Row) => string;
  bar?: (row: Row) => number; // share of the column's width
  go?: (row: Row) => void; // the cell is a link
  wraps?: boolean; // long texts continue in a second line
}

export interface Manner<Row> {
  mark?: (row: Row) => boolean;
  more?: string; // how to see rows without room
  key?: (row: Row) => string; // identifies a row; default: the first column
}

interface Figures<Row> { columns: Column<Row>[]; rows: Row[]; again: () => void; manner: Manner<Row>; }
interface Cell { place: HTMLElement; text: Text; bar?: HTMLElement; }
interface Line<Row> { row: Row; place: HTMLElement; cells: Cell[]; }
interface Table<Row> { figures: Figures<Row>; titles: [HTMLElement, HTMLElement][]; body: HTMLElement; lines: Map<string, Line<Row>>; more: HTMLElement; }

const chosen = new Map<string, { column: number; down: boolean }>();
const figure = new Intl.NumberFormat("en");
const ROWS_MOST = 1000;

function sorted<Row>(name: string, { columns, rows }: Figures<Row>): Row[] {
  const order = chosen.get(name), value = order && columns[order.column]?.value;
  if (!order || !value) return rows;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))) * (order.down ? -1 : 1);
  });
}

function set(place: HTMLElement, name: string, value: string | undefined): void {
  if (value === undefined) place.removeAttribute(name);
  else if (place.getAttribute(name) !== value) place.setAttribute(name, value);
}

function newLine<Row>(shown: Table<Row>, row: Row): Line<Row> {
  const line: Line<Row> = { row, place: el("tr"), cells: [] };
  shown.figures.columns.forEach((column, number) => {
    const text = document.createTextNode(""), bar = column.bar && el("i", { class: "bar" });
    const inside = column.go ? el("a", { href: "#", click: (event) => { event.preventDefault(); shown.figures.columns[number]!.go!(line.row); } }, text) : text;
    const place = el("td", { "data-column": column.title }, inside, bar);
    line.cells.push({ place, text, bar });
    line.place.append(place);
  });
  return line;
}

function fillLine<Row>(line: Line<Row>, { columns, manner }: Figures<Row>): void {
  set(line.place, "class", manner.mark?.(line.row) ? "marked" : undefined);
  columns.forEach((column, number) => {
    const { place, text, bar } = line.cells[number]!, value = column.value(line.row), before = place.dataset.value;
    const words = column.text ? column.text(line.row) : typeof value === "number" ? figure.format(value) : value;
    if (text.data !== words) text.data = words;
    if (column.go) set(text.parentElement!, "href", words && words !== "-" ? "#" : undefined); // nothing to go to
    if (bar) {
      const width = `${Math.min(100, 100 * Math.max(0, column.bar!(line.row))).toFixed(2)}%`;
      if (bar.style.width !== width) bar.style.width = width;
    }
    if (before === String(value)) return;
    place.dataset.value = String(value);
    set(place, "class", typeof value === "number" ? "number" : column.wraps ? "wraps" : undefined);
  });
}

function fill<Row>(name: string, shown: Table<Row>): void {
  const { figures, body, lines } = shown, { columns, manner } = figures, order = chosen.get(name), rows = sorted(name, figures);
  shown.titles.forEach(([place, button], number) => {
    const by = order?.column === number ? order : undefined, text = columns[number]!.title + (by ? (by.down ? " ▾" : " ▴") : "");
    set(place, "aria-sort", by && (by.down ? "descending" : "ascending"));
    if (button.textContent !== text) button.textContent = text;
    if (rows[0]) set(place, "class", typeof columns[number]!.value(rows[0]) === "number" ? "number" : undefined);
  });
  const wanted = new Set<string>();
  let at = body.firstChild;
  for (const row of rows.slice(0, ROWS_MOST)) {
    let key = manner.key ? manner.key(row) : String(columns[0]!.value(row));
    while (wanted.has(key)) key += " ";
    wanted.add(key);
    const line = lines.get(key) ?? newLine(shown, row);
    line.row = row;
    lines.set(key, line);
    fillLine(line, figures);
    if (line.place === at) at = at.nextSibling;
    else body.insertBefore(line.place, at);
  }
  for (const [key, line] of lines) if (!wanted.has(key)) { line.place.remove(); lines.delete(key); }
  const rest = rows.length - ROWS_MOST, more = rest > 0 ? `${rest} more rows${manner.more ? `; ${manner.more}` : ""}` : "";
  if (shown.more.textContent !== more) shown.more.textContent = more;
}

function make<Row>(name: string, box: HTMLElement, figures: Figures<Row>): Table<Row> {
  const shown: Table<Row> = { figures, titles: [], body: el("tbody"), lines: new Map(), more: el("p", { class: "quiet" }) };
  shown.titles = figures.columns.map((_, number) => {
    const button = el("button", { click: () => {
      const order = chosen.get(name);
      chosen.set(name, { column: number, down: order?.column === number ? !order.down : true });
      shown.figures.again();
    } });
    return [el("th", { scope: "col" }, button), button];
  });
  box.replaceChildren(el("table", { "data-table": name }, el("thead", {}, el("tr", {}, ...shown.titles.map(([place]) => place))), shown.body), shown.more);
  fill(name, shown);
  return shown;
}

export function table<Row>(name: string, columns: Column<Row>[], rows: Row[], again: () => void, manner: Manner<Row> = {}): HTMLElement {
  const figures: Figures<Row> = { columns, rows, again, manner };
  return keyed(part<Table<Row>>(el("div", { class: "scroll" }), {
    form: JSON.stringify([name, columns.map((column) => [column.title, !!column.bar, !!column.go])]),
    make: (box) => make(name, box, figures),
    renew: (shown) => {
      shown.figures = figures;
      fill(name, shown);
    },
  }), `table ${name}`);
}
