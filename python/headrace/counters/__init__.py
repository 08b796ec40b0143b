"""Reads the pages of counters that processes of Headrace keep (docs/counters.md).

    from headrace import counters
    found = counters.look()                 # every job of this user on this host
    for page in found.pages:
        now = page.read()
        print(page.job, page.rank, now.state, now.table("function.calls"))

A page describes itself, so there is no table of counters here. No dependencies.
"""

from __future__ import annotations

from .details import Report
from .files import Found, Idle, directories, look
from .page import Page, Problem, Snapshot
from .saved import load, save

__all__ = ["Found", "Idle", "Page", "Problem", "Report", "Snapshot", "directories", "load", "look", "save"]
