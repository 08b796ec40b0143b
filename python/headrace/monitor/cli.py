"""`headrace monitor`: the command line."""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

from headrace import counters
from headrace.counters.saved import MAGIC
from headrace.monitor.answers import Place
from headrace.monitor.collector import Collector
from headrace.monitor.history import Busy, History, Unreadable, connect, default_path
from headrace.monitor.host import Host
from headrace.monitor.pages import Pages
from headrace.monitor.query import Wrong
from headrace.monitor.save import save

_EPILOG = "Jobs need nothing: their counters are read from outside. Stop it with Ctrl-C; the history stays."
_EXTRA = "headrace monitor needs Starlette and uvicorn for its page: pip install 'headrace[monitor]'. headrace top needs neither."


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headrace monitor", epilog=_EPILOG,
                                     description="Shows what the jobs of this host do, live and as history, on a web page.")
    parser.add_argument("--port", type=int, default=8642, help="where the page is served; 0: any free port (%(default)s)")
    parser.add_argument("--listen", metavar="ADDRESS", default="127.0.0.1",
                        help="address to serve on; others than loopback can be reached by others, unencrypted (%(default)s)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="holds the token of the page (a new one at each start)")
    parser.add_argument("--history", type=Path, metavar="FILE", help=f"the history ({default_path()})")
    parser.add_argument("--history-size", type=int, default=256, metavar="MB", help="what the history may take (%(default)s)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--save", type=Path, metavar="FILE", help="save a run as one file, and end")
    only.add_argument("--open", type=Path, metavar="FILE", help="show a saved run, or the counters that mpiexec --save-counters wrote")
    parser.add_argument("--job", default="", help="which run --save saves (the newest)")
    args = parser.parse_args(argv)
    if args.history_size < 1 or not 0 <= args.port <= 65535:
        parser.error("--history-size is at least 1, and --port from 0 to 65535")
    return args


def _say(text: str) -> None:
    print(f"headrace monitor: {text}", file=sys.stderr, flush=True)


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    token = file.read_text(encoding="utf-8").strip()
    if len(token) < 16:
        raise OSError(f"{file} holds no token of at least 16 characters")
    return token


def _one_sweep(path: Path) -> None:
    """What runs now is part of the history, too, unless another monitor sees to that."""
    try:
        history = History(path)
    except Busy:
        return
    history.write(Pages().sweep(True), {})
    history.close()


def _save(args: argparse.Namespace) -> int:
    history = args.history or default_path()
    _one_sweep(history)
    print(save(history, args.save, args.job))
    return 0


def _counters_as_history(file: Path, folder: str) -> Path:
    """A file of counters (the end of a run) as a history with one span."""
    path = Path(folder) / "counters.sqlite"
    history = History(path)
    history.write(Pages(counters.load(file)).sweep(True), {})
    history.close()
    return path


def _serve(args: argparse.Namespace, path: Path, collector: Collector | None) -> int:
    try:
        from headrace.monitor import serve
    except ModuleNotFoundError:
        _say(_EXTRA)
        return 2
    try:
        listener = serve.listen(args.listen, args.port)
    except serve.Refused as refused:
        _say(str(refused))
        return 2
    if collector:
        collector.start()
    try:
        serve.serve(Place(path, collector), listener, _token(args.token_file),
                    lambda address, _: print(f"headrace monitor: {address}", flush=True))
    finally:
        if collector:
            collector.stop()
    return 0


def _open(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="headrace-monitor-") as folder:
        with open(args.open, "rb") as file:
            is_counters = file.read(8) == MAGIC
        path = _counters_as_history(args.open, folder) if is_counters else args.open
        connect(path).close()
        return _serve(args, path, None)


def _live(args: argparse.Namespace) -> int:
    path = args.history or default_path()
    with tempfile.TemporaryDirectory(prefix="headrace-monitor-") as folder:
        try:
            history = History(path, args.history_size << 20)
        except (Busy, OSError) as error:
            _say(f"{error}; what this one sees is kept only while it runs")
            history = History(Path(folder) / "history.sqlite", args.history_size << 20)
        for remark in history.remarks:
            _say(remark)
        try:
            return _serve(args, history.path, Collector(Pages(), history, Host()))
        finally:
            history.close()


def main(argv: list[str]) -> int:
    args = _arguments(argv)
    os.umask(0o077)
    try:
        return _save(args) if args.save else _open(args) if args.open else _live(args)
    except (Unreadable, Wrong, counters.Problem, OSError, sqlite3.Error) as problem:
        _say(str(problem))
        return 2
    except KeyboardInterrupt:
        return 130
