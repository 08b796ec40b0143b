"""The switch --all-users, for root and for the service user of a site's monitor."""

from __future__ import annotations

import argparse
import os

_NEEDED = {"CAP_SYS_PTRACE": 19, "CAP_DAC_READ_SEARCH": 2}  # to open other users' /proc/PID/fd and pages


def _capabilities() -> int:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1], 16) for line in file if line.startswith("CapEff:")), 0)
    except (OSError, ValueError, IndexError):
        return 0


def missing() -> str:
    """Returns the reason why this user cannot read other users' pages, and how to change that; "" if it can."""
    held = _capabilities()
    lacks = [name for name, bit in _NEEDED.items() if not held >> bit & 1]
    if not lacks:
        return ""
    return (f"--all-users: user {os.geteuid()} may not read other users' processes; run as root, or give the process {' and '.join(lacks)} "
            "(systemd: AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH)")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all-users", action="store_true", help="show the jobs of all users on this host, for root or a service user (only own jobs)")


def check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if args.all_users and (why := missing()):
        parser.error(why)
