"""The tables of a history file. Saved runs are files of the same format, so the version changes with the columns."""

from __future__ import annotations

VERSION = 1

# Kinds of a span's rows. A span is an interval of time of one job, described by one set of rows.
SAMPLES = 0  # rows of `samples`, one per rank
CHANGES = 1  # rows of `changes`, one per counter

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value);
CREATE TABLE jobs(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, program TEXT, size INTEGER, began REAL, seen REAL,
                  ended INTEGER NOT NULL DEFAULT 0);
CREATE TABLE ranks(job INTEGER, rank INTEGER, pid INTEGER, host TEXT, cpus TEXT, gpu TEXT, seen REAL, ended INTEGER,
                   calls INTEGER, mpi_ns INTEGER, wait_ns INTEGER, sent INTEGER, sent_bytes INTEGER, received INTEGER,
                   received_bytes INTEGER, posted INTEGER, unexpected INTEGER, unexpected_bytes INTEGER,
                   PRIMARY KEY(job, rank)) WITHOUT ROWID;
CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE kinds(id INTEGER PRIMARY KEY, name TEXT NOT NULL, key_is TEXT NOT NULL);
CREATE TABLE spans(id INTEGER PRIMARY KEY, job INTEGER, what INTEGER, level INTEGER, began REAL, ended REAL);
CREATE INDEX spans_by_time ON spans(job, what, began);
CREATE TABLE samples(span INTEGER, rank INTEGER, calls INTEGER, mpi_ns INTEGER, wait_ns INTEGER, sent INTEGER,
                     sent_bytes INTEGER, received INTEGER, received_bytes INTEGER, posted INTEGER, unexpected INTEGER,
                     unexpected_bytes INTEGER, PRIMARY KEY(span, rank)) WITHOUT ROWID;
CREATE TABLE points(span INTEGER PRIMARY KEY, least REAL, mean REAL, most REAL, mpi REAL, slowest INTEGER, messages INTEGER,
                    bytes INTEGER, posted INTEGER, unexpected INTEGER, unexpected_bytes INTEGER);
CREATE TABLE changes(span INTEGER, kind INTEGER, rank INTEGER, key INTEGER, count INTEGER, bytes INTEGER, ns INTEGER,
                     PRIMARY KEY(span, kind, rank, key)) WITHOUT ROWID;
CREATE TABLE totals(job INTEGER, kind INTEGER, rank INTEGER, key INTEGER, count INTEGER, bytes INTEGER, ns INTEGER,
                    PRIMARY KEY(job, kind, rank, key)) WITHOUT ROWID;
CREATE TABLE machine(time INTEGER, host TEXT, what INTEGER, value REAL, PRIMARY KEY(time, host, what)) WITHOUT ROWID;
"""

# The view that has existed since the first version.
FIRST_VIEWS = {
    "named_totals": """SELECT jobs.key AS job, kinds.name AS kind, totals.rank AS rank,
                              CASE kinds.key_is WHEN 'rank' THEN CAST(totals.key AS TEXT) ELSE names.name END AS name, count, bytes, ns
                       FROM totals JOIN jobs ON jobs.id = totals.job JOIN kinds ON kinds.id = totals.kind LEFT JOIN names ON names.id = totals.key""",
}
TABLES += "".join(f"CREATE VIEW {name} AS {select};\n" for name, select in FIRST_VIEWS.items())

# Views for SQL queries, with jobs, kinds and counters by name.
VIEWS = {
    "rank_samples": """SELECT jobs.key AS job, spans.began, spans.ended, rank, calls, mpi_ns, wait_ns, sent, sent_bytes, received, received_bytes,
                       posted, unexpected, unexpected_bytes FROM samples JOIN spans ON spans.id = span JOIN jobs ON jobs.id = spans.job""",
    "named_changes": """SELECT jobs.key AS job, spans.began, spans.ended, kinds.name AS kind, rank,
                        CASE kinds.key_is WHEN 'rank' THEN CAST(changes.key AS TEXT) ELSE names.name END AS name, count, bytes, ns
                        FROM changes JOIN spans ON spans.id = span JOIN jobs ON jobs.id = spans.job JOIN kinds ON kinds.id = changes.kind
                        LEFT JOIN names ON names.id = changes.key""",
    "timeline": """SELECT jobs.key AS job, spans.began, spans.ended, least, mean, most, mpi, slowest, messages, bytes, posted, unexpected,
                   unexpected_bytes FROM points JOIN spans ON spans.id = span JOIN jobs ON jobs.id = spans.job""",
    "phase_marks": "SELECT jobs.key AS job, rank, number, time, level FROM marks JOIN jobs ON jobs.id = marks.job",
    "rank_deaths": "SELECT jobs.key AS job, rank, time FROM deaths JOIN jobs ON jobs.id = deaths.job",
    "checker_reports": "SELECT jobs.key AS job, rank, number, time, times, text FROM reports JOIN jobs ON jobs.id = reports.job",
    "job_origins": "SELECT jobs.key AS job, user, command, batch, batch_job, batch_name FROM origins JOIN jobs ON jobs.id = origins.job",
    "host_figures": "SELECT time, host, names.name AS name, value FROM machine JOIN names ON names.id = what",
}

# Later additions, which a file of this version may lack. They are added when an old file is next written.
LATER = {
    "marks": "marks(job INTEGER, rank INTEGER, number INTEGER, time REAL, level INTEGER, PRIMARY KEY(job, rank, number)) WITHOUT ROWID",
    "deaths": "deaths(job INTEGER, rank INTEGER, time REAL, PRIMARY KEY(job, rank)) WITHOUT ROWID",
    "reports": "reports(job INTEGER, rank INTEGER, number INTEGER, time REAL, times INTEGER, text TEXT, PRIMARY KEY(job, rank, number)) WITHOUT ROWID",
    "origins": "origins(job INTEGER PRIMARY KEY, user TEXT, command TEXT, batch TEXT, batch_job TEXT, batch_name TEXT)",
}
ADDED = "".join(f"CREATE TABLE IF NOT EXISTS {table};" for table in LATER.values()) + "".join(f"CREATE VIEW IF NOT EXISTS {name} AS {select};" for name, select in VIEWS.items())

# Tables whose rows belong to a job, and the column that identifies the job; used to save a job.
OF_A_JOB = {"jobs": "id", "ranks": "job", "spans": "job", "totals": "job", "marks": "job", "origins": "job", "reports": "job", "deaths": "job"}
OF_A_SPAN = ("samples", "points", "changes")
