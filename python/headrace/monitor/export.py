"""`headrace monitor export`: the history, or a saved run, through SQL and as Parquet.

    headrace monitor export --sql "SELECT name, sum(ns) / 1e9 AS s FROM named_totals WHERE kind = 'call' GROUP BY name ORDER BY s DESC"
    headrace monitor export --parquet DIRECTORY
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace import command, own_files
from headrace.command import Parser
from headrace.monitor import sealed
from headrace.monitor.history import Unreadable, connect, default_path
from headrace.monitor.query import Wrong, job_id
from headrace.monitor.schema import FIRST_VIEWS, LATER, VIEWS
from headrace.problem import sentence

_EXTRA = "--parquet needs pyarrow: pip install 'headrace[parquet]'. --sql needs nothing, and --form csv can be read by everything"
_ROWS = 65536  # rows of a batch
_WIDEST = 60  # maximum characters per column of a table
_TIMES = {"began", "ended", "seen", "time"}
_WORDS = {"job", "program", "host", "cpus", "gpu", "kind", "name", "user", "command", "batch", "batch_job", "batch_name", "text"}
_REALS = {"least", "mean", "most", "mpi", "value"}

# Queries for each file: the rows of one job (:key), and the time range of the machine's rows.
TABLES = {
    "jobs": "SELECT key AS job, program, size, began, seen, ended AS finished FROM jobs WHERE key = :key",
    "ranks": """SELECT jobs.key AS job, rank, pid, host, cpus, gpu, ranks.seen, ranks.ended AS finished, calls, mpi_ns, wait_ns, sent, sent_bytes, received,
                received_bytes FROM ranks JOIN jobs ON jobs.id = ranks.job WHERE jobs.key = :key""",
    "counters": "SELECT * FROM named_totals WHERE job = :key",
    "counter_changes": "SELECT * FROM named_changes WHERE job = :key",
    "rank_samples": "SELECT * FROM rank_samples WHERE job = :key",
    "timeline": "SELECT * FROM timeline WHERE job = :key",
    "phase_marks": "SELECT * FROM phase_marks WHERE job = :key",
    "rank_deaths": "SELECT * FROM rank_deaths WHERE job = :key",
    "checker_reports": "SELECT * FROM checker_reports WHERE job = :key",
    "job_origins": "SELECT * FROM job_origins WHERE job = :key",
    "host_figures": "SELECT * FROM host_figures WHERE time BETWEEN (SELECT began - 5 FROM jobs WHERE key = :key) AND (SELECT seen + 5 FROM jobs WHERE key = :key)",
}


def open_for_questions(path: Path) -> sealed.Sealed:
    """Opens a history read-only, with all current views and tables, none of which come from the file. Raises Unreadable."""
    db = connect(path, text_most=1 << 26)
    db.execute("PRAGMA query_only = OFF")  # for the following views in memory; the file itself is open read-only
    for name, table in LATER.items():
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
            db.execute(f"CREATE TEMP TABLE {table}")
    for name, select in {**VIEWS, **FIRST_VIEWS}.items():
        db.execute(f"CREATE TEMP VIEW {name} AS {select}")
    db.execute("PRAGMA query_only = ON")
    return db


def _batches(cursor: sqlite3.Cursor) -> Iterator[list[tuple]]:
    while rows := cursor.fetchmany(_ROWS):
        yield rows


def _plain(value: object) -> object:
    """Returns a value that JSON can represent: bytes as hexadecimal digits, no infinity or NaN."""
    if isinstance(value, bytes):
        return value.hex()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return text if len(text) <= _WIDEST else text[:_WIDEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _table(names: list[str], batches: Iterable[list[tuple]]) -> Iterator[str]:
    """Returns the lines of a table; columns are as wide as the first batch requires."""
    widths: list[int] = []
    for rows in batches:
        cells = [[_cell(value) for value in row] for row in rows]
        if not widths:
            widths = [max(len(name), *(len(row[place]) for row in cells)) for place, name in enumerate(names)]
            yield "  ".join(name.ljust(width) for name, width in zip(names, widths)).rstrip()
        for row, values in zip(cells, rows):
            yield "  ".join(cell.rjust(width) if isinstance(value, (int, float)) else cell.ljust(width)
                            for cell, value, width in zip(row, values, widths)).rstrip()
    if not widths:
        yield "  ".join(names)


def answer(db: sealed.Sealed, sql: str, form: str) -> None:
    """Prints the result of one read-only statement. Raises Wrong, KeyboardInterrupt."""
    sealed.only_reads(db)
    try:
        cursor = db.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        batches = _batches(cursor)
        if form == "csv":
            out = csv.writer(sys.stdout, lineterminator="\n")
            out.writerow(names)
            for rows in batches:
                out.writerows(rows)
        elif form == "json":
            for rows in batches:
                for row in rows:
                    print(json.dumps(dict(zip(names, map(_plain, row)))))
        else:
            for line in _table(names, batches):
                print(line)
    except sqlite3.OperationalError as error:
        ended = db.ended(error)
        raise (Wrong(f"SQLite says: {ended}") if isinstance(ended, Exception) else ended) from None
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        raise Wrong(f"SQLite says: {error}") from None


def _schema(arrow: object, names: list[str]) -> object:
    def kind(name: str) -> object:
        if name in _TIMES:
            return arrow.timestamp("us", "UTC")
        return arrow.string() if name in _WORDS else arrow.float64() if name in _REALS else arrow.bool_() if name == "finished" else arrow.int64()
    return arrow.schema([(name, kind(name)) for name in names])


def _converted(name: str, values: tuple) -> list:
    if name in _TIMES:
        return [None if value is None else round(value * 1e6) for value in values]
    return [bool(value) for value in values] if name == "finished" else list(values)


def parquet(db: sqlite3.Connection, key: str, folder: Path) -> list[str]:
    """Writes a file for each of TABLES, complete or not at all. Raises ModuleNotFoundError, OSError."""
    import pyarrow as arrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    said = []
    for table, select in TABLES.items():
        cursor = db.execute(select, {"key": key})
        names, file, count = [column[0] for column in cursor.description], folder / f"{table}.parquet", 0
        schema = _schema(arrow, names)
        with own_files.unfinished(file) as unfinished, arrow.parquet.ParquetWriter(unfinished, schema) as writer:
            for rows in _batches(cursor):
                columns = [arrow.array(_converted(name, values), kind) for name, values, kind in zip(names, zip(*rows), schema.types)]
                writer.write_batch(arrow.record_batch(columns, schema=schema))
                count += len(rows)
        said.append(f"{file}: {count} rows")
    return said


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run)
    parser.description = "Queries the history or a saved run with SQL, or exports it as Parquet."
    parser.epilog = f"Tables and views for --sql: jobs, ranks, named_totals, machine, {', '.join(VIEWS)} (docs/monitor.md)."
    parser.add_argument("file", type=Path, nargs="?", default=default_path(), help="a history or a saved run (%(default)s)")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--sql", metavar="QUERY", help="print the result of one SQL statement (SQLite); the file is not changed")
    what.add_argument("--parquet", type=Path, metavar="DIR", help="write a run's tables there, one file each")
    parser.add_argument("--form", choices=("table", "csv", "json"), default="table", help="output format of --sql; json: one object per line")
    parser.add_argument("--job", default="", help="run that --parquet writes (the newest)")


def main(argv: list[str]) -> int:
    return run(command.parse("headrace monitor export", define, argv))


def run(args: argparse.Namespace) -> int:
    try:
        db = open_for_questions(args.file)
        if args.sql is not None:
            answer(db, args.sql, args.form)
            return 0
        key = db.execute("SELECT key FROM jobs WHERE id = ?", (job_id(db, args.job),)).fetchone()[0]
        for line in parquet(db, key, args.parquet):
            print(line)
    except ModuleNotFoundError:
        print(f"headrace monitor: {_EXTRA}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stdout = None
    except KeyboardInterrupt:
        return 130
    except (TypeError, ValueError, OverflowError) as problem:
        print(f"headrace monitor: {args.file} holds what no monitor has written ({problem})", file=sys.stderr)
        return 2
    except (Unreadable, Wrong, OSError, sqlite3.Error) as problem:
        print(f"headrace monitor: {sentence(problem)}", file=sys.stderr)
        return 2
    return 0
