"""The tables of a history file. Saved runs are files of the same form, so the version changes when a column does."""

from __future__ import annotations

VERSION = 1

# What a span's rows are. A span is a stretch of time of one job for which one set of rows says what happened in it.
SAMPLES = 0  # rows of `samples`, one a rank
CHANGES = 1  # rows of `changes`, one a counter

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
CREATE VIEW named_totals AS
  SELECT jobs.key AS job, kinds.name AS kind, totals.rank AS rank,
         CASE kinds.key_is WHEN 'rank' THEN CAST(totals.key AS TEXT) ELSE names.name END AS name, count, bytes, ns
  FROM totals JOIN jobs ON jobs.id = totals.job JOIN kinds ON kinds.id = totals.kind LEFT JOIN names ON names.id = totals.key;
"""

# What of a job is in which table, by the column that names the job; for saving and forgetting.
OF_A_JOB = {"jobs": "id", "ranks": "job", "spans": "job", "totals": "job"}
OF_A_SPAN = ("samples", "points", "changes")
