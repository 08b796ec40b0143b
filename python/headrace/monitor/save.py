"""Saves one run as one file: a history that contains only the rows of that job."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headrace import own_files
from headrace.monitor.history import connect
from headrace.monitor.query import job_id
from headrace.monitor.schema import ADDED, OF_A_JOB, OF_A_SPAN, TABLES, VERSION


def save(history: Path, file: Path, job: str = "") -> str:
    """Writes `job` (by default the newest) of `history` to `file`, complete or not at all. Returns a sentence. Raises Unreadable,
    Wrong, OSError."""
    reader = connect(history)
    number = job_id(reader, job)
    size, program, key = reader.execute("SELECT size, program, key FROM jobs WHERE id = ?", (number,)).fetchone()
    reader.close()
    try:
        with own_files.unfinished(file) as name:
            _copy(history, name, number)
    except sqlite3.Error as error:
        raise OSError(f"{file} cannot be written ({error})") from error
    return f"{file}: job {key}, {program} on {size} ranks, {file.stat().st_size / 1e6:.1f} MB"


def _copy(history: Path, file: Path, job: int) -> None:
    db = sqlite3.connect(file, isolation_level=None, uri=True)
    try:
        db.executescript("PRAGMA synchronous = OFF; " + TABLES + ADDED)
        db.execute("ATTACH ? AS old", (f"{history.resolve().as_uri()}?mode=ro",))
        db.execute("BEGIN")
        db.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
        for table in ("kinds", "names"):
            db.execute(f"INSERT INTO {table} SELECT * FROM old.{table}")
        there = {name for (name,) in db.execute("SELECT name FROM old.sqlite_master WHERE type = 'table'")}
        for table, column in OF_A_JOB.items():
            if table not in there:
                continue
            db.execute(f"INSERT INTO {table} SELECT * FROM old.{table} WHERE {column} = ?", (job,))
        for table in OF_A_SPAN:
            db.execute(f"INSERT INTO {table} SELECT * FROM old.{table} WHERE span IN (SELECT id FROM spans)")
        db.execute("INSERT INTO machine SELECT m.* FROM old.machine AS m, main.jobs AS j WHERE time BETWEEN j.began - 5 AND j.seen + 5")
        db.execute("COMMIT")
    finally:
        db.close()
