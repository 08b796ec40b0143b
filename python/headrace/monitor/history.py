"""The history file: written by one thread of one process, read by any number (SQLite in WAL mode).

A file that is damaged or has another version is renamed, and a new one is started. A full disk costs only history:
figures that cannot be written now are added to the next span that can be written. A monitor that writes the file holds
a lock, which the system releases with the process.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from pathlib import Path

from headrace import own_files
from headrace.monitor import sealed
from headrace.monitor.model import KINDS, PEERS, Sweep
from headrace.monitor.schema import ADDED, OF_A_SPAN, TABLES, VERSION
from headrace.monitor.thin import Limits, thin
from headrace.monitor.write import Writer

_MEBI = 1 << 20
_DAMAGED = (sqlite3.DatabaseError, UnicodeError)  # the latter if SQLite reports bytes that are not text


def default_path() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "headrace" / "history.sqlite"


class Busy(Exception):
    """Another process is writing this file."""


class Unreadable(Exception):
    """The file is not a history that this version can read."""


def connect(path: Path, seconds: float | None = None, text_most: int = _MEBI) -> sealed.Sealed:
    """Opens for reading; `seconds`: time limit for all queries together. Raises Unreadable."""
    try:
        connection = sealed.connect(path, seconds, text_most)
    except FileNotFoundError:
        raise Unreadable(f"{path} is not there") from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from None
    except _DAMAGED as error:
        raise _unreadable(path, error) from error
    try:
        version = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    except _DAMAGED as error:
        connection.close()
        raise _unreadable(path, error) from error
    if version is None or version[0] != VERSION:
        connection.close()
        raise Unreadable(f"{path} has version {str(version and version[0])[:40]} of the history format, and this headrace reads version {VERSION}")
    return connection


def _unreadable(path: Path, error: Exception) -> Unreadable:
    return Unreadable(f"{path} is not a history of headrace monitor, or is damaged ({error})")


def check(path: Path, seconds: float) -> None:
    """Checks that a run, which another user may have saved, contains only what a monitor writes. Raises Unreadable, KeyboardInterrupt."""
    connection = connect(path, seconds)
    try:
        sealed.check_contents(connection)
    except sqlite3.OperationalError as error:
        ended = connection.ended(error)
        raise (_unreadable(path, ended) if isinstance(ended, Exception) else ended) from None
    except _DAMAGED as error:
        raise _unreadable(path, error) from error
    finally:
        connection.close()


class History:
    """A history open for writing. Not thread-safe, except `path`."""

    def __init__(self, path: Path, most_bytes: int = 256 * _MEBI, limits: Limits | None = None):
        """Raises Busy, and OSError if the folder or file cannot be written."""
        self.path = path
        self.most_bytes = most_bytes
        self.limits = limits or Limits()
        self.least = 0.0  # seconds; readings that are closer together are one point of the history
        self.remarks: list[str] = []  # remarks for the user, such as files set aside
        self.trouble = ""  # reason why nothing is written now
        self._again = 0.0  # time of the next attempt after a failure
        if path == default_path():
            own_files.own_directory(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for ending in ("", "-wal", "-shm", "-journal", ".lock"):
            own_files.ours_or_missing(path.with_name(path.name + ending))
        self._lock = self._take_lock()
        self._open()

    def _take_lock(self) -> int:
        lock = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise Busy(f"another headrace monitor writes {self.path}") from error
        return lock

    def _open(self) -> None:
        try:
            self._connect()
        except (*_DAMAGED, Unreadable) as error:
            if isinstance(error, sqlite3.OperationalError) and not self.path.exists():
                raise OSError(f"cannot make {self.path}: {error}") from error
            self._set_aside(str(error))
            self._connect()

    def _connect(self) -> None:
        new = not self.path.exists()
        old_mask = os.umask(0o077)
        try:
            self.db = sqlite3.connect(self.path, isolation_level=None, timeout=5, check_same_thread=False)
            if new:
                self._make()
            self._check()
        finally:
            os.umask(old_mask)
        self.db.executescript(ADDED)
        self._name_kinds()  # those that an older monitor did not know
        self.db.execute("PRAGMA synchronous = OFF")  # a crash of the machine may damage the file, which is then set aside
        self.db.execute("PRAGMA journal_size_limit = 4194304")
        self.writer = Writer(self.db)

    def _make(self) -> None:
        self.db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(TABLES)
        self.db.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))

    def _name_kinds(self) -> None:
        self.db.executemany("INSERT OR IGNORE INTO kinds VALUES (?, ?, ?)",
                            [(number, kind, "rank" if kind in PEERS else "name") for kind, number in KINDS.items()])

    def _check(self) -> None:
        if (said := self.db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(said)
        version = self.db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if version is None or version[0] != VERSION:
            raise Unreadable(f"version {version and version[0]} of the history format, not {VERSION}")

    def _set_aside(self, why: str) -> None:
        self.db.close()
        aside = self.path.with_name(f"{self.path.stem}-aside-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}{self.path.suffix}")
        self.path.rename(aside)
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        self.remarks.append(f"the history {self.path} could not be used ({why}); it is now {aside.name}, and a new one has begun")

    def write(self, sweep: Sweep, machine: dict[str, dict[str, float]]) -> None:
        """Writes a sweep and the figures of hosts. After a failure, it tries again every ten seconds."""
        if self.trouble and sweep.time < self._again:
            return
        try:
            self.db.execute("BEGIN IMMEDIATE")
            self.writer.write(sweep, machine, self.least)
            self.db.execute("COMMIT")
            self.writer.kept()
            self.trouble = ""
        except sqlite3.OperationalError as error:  # the disk is full, or the file inaccessible
            self._give_up(error, sweep.time)
        except sqlite3.DatabaseError as error:
            self._set_aside(str(error))
            self._connect()
        except OverflowError as error:  # the figures are impossibly large
            self._give_up(error, sweep.time)

    def _give_up(self, error: Exception, now: float) -> None:
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
        self.writer.forget()
        self.trouble = f"nothing is kept now: {self.path} cannot be written ({error}); live figures go on"
        self._again = now + 10

    def tidy(self, now: float) -> None:
        """Thins old spans and keeps the file below its size limit. To be called about every ten seconds."""
        if self.trouble:
            return
        try:
            self.db.execute("BEGIN IMMEDIATE")
            thin(self.db, now, self.limits)
            self.db.execute("COMMIT")
            self._bound()
        except sqlite3.OperationalError as error:
            self._give_up(error, now)

    def used(self) -> int:
        """Returns the number of bytes of the file in use."""
        page, pages, free = (self.db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count"))
        return page * (pages - free)

    def _bound(self) -> None:
        """Removes the oldest spans, those of finished jobs before those of running ones."""
        while self.used() > self.most_bytes:
            spans = self.db.execute("SELECT spans.id FROM spans JOIN jobs ON jobs.id = spans.job ORDER BY jobs.ended DESC, spans.began "
                                    "LIMIT max(1, (SELECT count(*) FROM spans) / 16)").fetchall()
            if not spans:
                break
            self.db.execute("BEGIN IMMEDIATE")
            for table, column in (*((table, "span") for table in OF_A_SPAN), ("spans", "id")):
                self.db.executemany(f"DELETE FROM {table} WHERE {column} = ?", spans)
            self.db.execute("DELETE FROM jobs WHERE ended AND id NOT IN (SELECT job FROM spans)")
            for table in ("ranks", "totals", "marks", "origins", "reports", "deaths"):
                self.db.execute(f"DELETE FROM {table} WHERE job NOT IN (SELECT id FROM jobs)")
            self.db.execute("COMMIT")
        self.db.execute("PRAGMA incremental_vacuum(2000)").fetchall()

    def close(self) -> None:
        self.db.close()
        os.close(self._lock)
