"""Opens a history, which another user may have created, for queries: whatever the file contains, it is only read, and
every query ends.

An SQLite file is partly a program: views, triggers and virtual tables run when a table of that name is read. So the tables must be
those that a monitor makes, and views are never taken from the file.

Owner: the caller closes the connection. Threads: one at a time.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import threading
import time
from pathlib import Path

from headrace.own_files import open_regular
from headrace.monitor.schema import ADDED, LATER, TABLES

_OPERATIONS = 100_000  # instructions of SQLite's virtual machine between two checks of the clock and of signals
_TEXT_MOST = 1 << 20  # limit of a value's bytes
_SCHEMA_MOST = 200  # limit of tables, indices and views
_NULLS = {("points", "slowest")}
_NAME_MOST = 1000  # characters
_REAL_MOST = 1e18
_SUM_MOST = 4e18  # bound on the sum of one column's integers, so that no sum overflows

_PRAGMAS = ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0")
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_ASKING = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "database_list", "compile_options",
                     "function_list", "pragma_list"})
_FUNCTIONS_NOT = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})


class Unusual(sqlite3.DatabaseError):
    """A few words: why the file is not a monitor's history."""


class Late(sqlite3.OperationalError):
    """A query took longer than allowed."""


@functools.cache
def _columns() -> dict[str, tuple[tuple[str, str], ...]]:
    """Returns the names and types of the columns of the tables that a monitor creates."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.executescript(TABLES + ADDED)
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: tuple((row[1], row[2]) for row in db.execute(f"PRAGMA table_xinfo({name})")) for name in names}


class Sealed(sqlite3.Connection):
    """`until`: the time (monotonic) after which queries end with Late. `ending`: an event that also ends them."""

    until: float | None = None
    ending: threading.Event | None = None

    def limit(self, seconds: float | None) -> None:
        self.until = None if seconds is None else time.monotonic() + seconds

    def look(self) -> bool:
        """Called by SQLite at intervals; also runs Python's signal handlers."""
        return self.late() or self.ending is not None and self.ending.is_set()

    def late(self) -> bool:
        return self.until is not None and time.monotonic() > self.until

    def ended(self, error: sqlite3.OperationalError) -> BaseException:
        """Returns the cause of an interrupted query: too late, or Ctrl-C."""
        if "interrupted" not in str(error):
            return error
        return Late("the answer takes too long") if self.late() else KeyboardInterrupt()


def connect(path: Path, seconds: float | None = None, text_most: int = _TEXT_MOST) -> Sealed:
    """`seconds`: time limit for all queries together. Raises sqlite3.DatabaseError, including Unusual and Late, and OSError."""
    with open(open_regular(path, 1 << 62), "rb"):
        pass  # neither a FIFO nor a device, for which SQLite would wait
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5, check_same_thread=False, factory=Sealed)
    try:
        db.limit(seconds)
        db.set_progress_handler(db.look, _OPERATIONS)
        if hasattr(db, "setlimit"):  # Python 3.11
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, text_most)
            db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in _PRAGMAS:
            db.execute(f"PRAGMA {pragma}").close()
        _check_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def _check_tables(db: Sealed) -> None:
    found = db.execute("SELECT type, name, sql FROM sqlite_master LIMIT ?", (_SCHEMA_MOST + 1,)).fetchall()
    if len(found) > _SCHEMA_MOST or any(kind == "trigger" for kind, _, _ in found):
        raise Unusual("it has triggers, or more tables than a history has")
    ours = _columns()
    made = {name: sql for kind, name, sql in found if kind == "table"}
    for name, columns in ours.items():
        if name not in made:
            if name in LATER and not any(name == other for _, other, _ in found):
                continue  # the file is older than this table
            raise Unusual(f"it has no table {name}")
        if not str(made[name]).upper().startswith("CREATE TABLE "):
            raise Unusual(f"its {name} is not a plain table")
        rows = db.execute(f"PRAGMA table_xinfo({name})").fetchall()
        if tuple((row[1], row[2]) for row in rows) != columns or any(row[6] for row in rows):
            raise Unusual(f"its table {name} has other columns")


def _right(table: str, column: str, kind: str) -> str:
    """Returns an SQL expression that is true if the value has the type that a monitor writes."""
    right = {"INTEGER": f"typeof({column}) = 'integer'",
             "REAL": f"(typeof({column}) IN ('real', 'integer') AND {column} BETWEEN -{_REAL_MOST} AND {_REAL_MOST})",
             "TEXT": f"(typeof({column}) = 'text' AND length({column}) <= {_NAME_MOST})"}[kind]
    return f"({column} IS NULL OR {right})" if (table, column) in _NULLS else right


def check_contents(db: Sealed) -> None:
    """Reads the whole file once to find pages used twice, indexes that differ from their tables, values of a wrong type, and
    figures whose sums overflow. Raises sqlite3.DatabaseError, including Unusual and Late."""
    if (said := db.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
        raise Unusual(str(said)[:200])
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, columns in _columns().items():
        typed = [(column, kind) for column, kind in columns if kind]
        if table not in there or table == "meta":
            continue
        sums = [column for column, kind in typed if kind == "INTEGER"]
        wrong = " OR ".join(f"NOT {_right(table, column, kind)}" for column, kind in typed)
        largest = max(map(abs, db.execute(f"SELECT {', '.join(['0', *(f'total({column})' for column in sums)])} FROM {table}").fetchone()))
        if db.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone() or not largest < _SUM_MOST:
            raise Unusual(f"its table {table} holds what no monitor has written")


def only_reads(db: Sealed) -> None:
    """Restricts statements to reading this file."""
    for table in ("json_each", "json_tree", *(f"pragma_{name}" for name in sorted(_ASKING))):
        # Touch each table now, because the authorizer sees its first use as a write; some SQLite versions lack some of them.
        with contextlib.suppress(sqlite3.Error):
            db.execute(f"SELECT 1 FROM {table} LIMIT 0").close()
    db.set_authorizer(_authorize)


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _view: str | None) -> int:
    allowed = (action in _READING or action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _FUNCTIONS_NOT
               or action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _ASKING)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
