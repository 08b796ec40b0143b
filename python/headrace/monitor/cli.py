"""`headrace monitor`: the command line."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sqlite3
import sys
import tempfile
import threading
from pathlib import Path

from headrace import counters, own_files
from headrace.command import Parser
from headrace.counters.saved import MAGIC
from headrace.monitor import all_users, export, otlp, pmpi, topology
from headrace.monitor.alerts import Alerts
from headrace.monitor.alerts import Wrong as WrongRules
from headrace.monitor.alerts import read as read_rules
from headrace.monitor.answers import Place
from headrace.monitor.collector import Collector
from headrace.monitor.history import Busy, History, Unreadable, check, default_path
from headrace.monitor.host import Host
from headrace.monitor.hosts import secret
from headrace.monitor.hosts.channel import Refused
from headrace.monitor.hosts.gather import Gather
from headrace.monitor.hosts.report import Reporter, parts_of
from headrace.monitor.limits import many_descriptors
from headrace.monitor.listen import Refused as CannotListen
from headrace.monitor.listen import listen
from headrace.monitor.pages import Pages
from headrace.monitor.query import Wrong
from headrace.monitor.save import save
from headrace.problem import sentence

_EPILOG = ("Jobs need nothing: their counters are read from outside. Stop it with Ctrl-C; the history stays. "
           "headrace monitor export: the history by SQL and as Parquet. headrace monitor pmpi: the library for other MPIs.")
_EXTRA = "the page needs Starlette and uvicorn: pip install 'headrace[monitor]'. headrace top needs neither."
_INTERVALS = (0.1, 5.0)  # range of --interval
_CHECK_SECONDS = 300.0  # time limit for the check of a saved run


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run)
    parser.check = _check
    parser.epilog = _EPILOG
    parser.description = "Shows what the jobs on this host do, live and as history, on a web page."
    parser.add_other("export", export.define)
    parser.add_other("pmpi", pmpi.define)
    parser.add_argument("--port", type=int, default=8642, help="port on which the page is served; 0: any free port (%(default)s)")
    parser.add_argument("--listen", metavar="ADDRESS", default="127.0.0.1",
                        help="address to serve on; any but loopback is open to other hosts, unencrypted (%(default)s)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="file with the page's token (a new token at each start)")
    parser.add_argument("--history", type=Path, metavar="FILE", help=f"history file ({default_path()})")
    parser.add_argument("--history-size", type=int, default=256, metavar="MB", help="maximum size of the history (%(default)s)")
    parser.add_argument("--reports", metavar="[ADDRESS:]PORT", help="accept reports from other hosts' collectors there (address: 127.0.0.1)")
    parser.add_argument("--secret-file", type=Path, metavar="FILE", default=secret.default_path(),
                        help="file with the secret that collectors and the monitor share; -: the first line of standard input (%(default)s)")
    parser.add_argument("--alerts", type=Path, metavar="FILE", help="JSON file with rules, and the command or webhook to notify when one holds")
    parser.add_argument("--otlp", nargs="?", const="", metavar="URL",
                        help="send metrics to an OpenTelemetry collector there; without URL, to the address in OTEL_EXPORTER_OTLP_ENDPOINT")
    parser.add_argument("--topology", type=Path, metavar="FILE", help="group nodes by switch: Slurm's topology.conf, or the output of ibnetdiscover")
    parser.add_argument("--interval", type=_interval, metavar="S",
                        help=f"seconds between two readings, from {_INTERVALS[0]} to {_INTERVALS[1]:g} (1); below 1 for jobs of few ranks: at most 4 %% of a core is used for reading")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--save", type=Path, metavar="FILE", help="save a run in one file, and exit")
    only.add_argument("--open", type=Path, metavar="FILE", help="show a saved run, or the counters that mpiexec --save-counters wrote")
    only.add_argument("--report-to", metavar="HOST:PORT", help="report what this host's jobs do to the monitor there, and serve nothing")
    parser.add_argument("--job", default="", help="run that --save saves (the newest)")
    all_users.add(parser)


def _check(parser: Parser, args: argparse.Namespace) -> None:
    all_users.check(parser, args)
    if args.history_size < 1 or not 0 <= args.port <= 65535:
        parser.error("--history-size is at least 1, and --port from 0 to 65535")
    try:
        args.report_to = args.report_to and parts_of(args.report_to)
        args.reports = args.reports and _reports(args.reports)
    except ValueError as error:
        parser.error(str(error))
    if args.reports and (args.save or args.open or args.report_to):
        parser.error("--reports is for a monitor that shows what runs now")
    if args.topology and (args.save or args.report_to):
        parser.error("--topology is for a monitor that shows a page")
    if args.otlp is not None and (args.save or args.open or args.report_to):
        parser.error("--otlp is for a monitor that shows what runs now")
    if args.interval and (args.save or args.open or args.report_to):
        parser.error("--interval is for a monitor that shows what runs now; it also tells collectors on other hosts when to read")
    if args.alerts and (args.save or args.open or args.report_to):
        parser.error("--alerts is for a monitor that shows what runs now")


def _interval(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not _INTERVALS[0] <= value <= _INTERVALS[1]:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds from {_INTERVALS[0]} to {_INTERVALS[1]:g}")
    return value


def _reports(text: str) -> tuple[str, int]:
    """Parses [ADDRESS:]PORT; port 0 means any free port."""
    address, colon, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or colon and not address:
        raise ValueError(f"--reports {text}: not [ADDRESS:]PORT")
    return address.strip("[]") or "127.0.0.1", int(port)


def _say(text: str) -> None:
    print(f"headrace monitor: {text}", file=sys.stderr, flush=True)


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    token = own_files.read_secret(file).strip()
    if len(token) < 16:
        raise own_files.Unfit(file, "it holds no token of at least 16 characters")
    if not all("!" <= letter <= "~" for letter in token):
        raise own_files.Unfit(file, "its token has spaces or characters that are not ASCII")
    return token


def _one_sweep(path: Path, everyone: bool) -> None:
    """Adds running jobs to the history, unless another monitor does."""
    try:
        history = History(path)
    except Busy:
        return
    history.write(Pages(everyone=everyone).sweep(True), {})
    history.close()


def _save(args: argparse.Namespace) -> int:
    history = args.history or default_path()
    _one_sweep(history, args.all_users)
    print(save(history, args.save, args.job))
    return 0


def _counters_as_history(file: Path, folder: str) -> Path:
    """Turns a file of counters (saved at the end of a run) into a history with one span."""
    path = Path(folder) / "counters.sqlite"
    history = History(path)
    history.write(Pages(counters.load(file)).sweep(True), {})
    history.close()
    return path


def _gather(args: argparse.Namespace) -> Gather:
    """Raises Unusable, Refused."""
    key = secret.read_or_make(args.secret_file)
    listener = listen(*args.reports)
    host, port = listener.getsockname()[:2]
    _say(f"takes reports on {host}, port {port}; on each host: headrace monitor --report-to HOST:{port} (secret: {args.secret_file})")
    return Gather(Pages(everyone=args.all_users), listener, key, _say)


def _report(args: argparse.Namespace) -> int:
    reporter = Reporter(Collector(Pages(everyone=args.all_users), None, Host()), args.report_to, secret.read(args.secret_file), _say, args.all_users)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Runs in a thread, as the main thread may hold the event's lock now.
        signal.signal(number, lambda *_: threading.Thread(target=reporter.stop.set).start())
    try:
        reporter.run()
    except Refused as refused:
        raise Refused(f"the monitor at {args.report_to[0]}, port {args.report_to[1]}: {refused}") from None
    return 0


def _serve(args: argparse.Namespace, path: Path, collector: Collector | None) -> int:
    try:
        from headrace.monitor import serve
    except ModuleNotFoundError:
        _say(_EXTRA)
        return 2
    try:
        listener = listen(args.listen, args.port)
    except CannotListen as refused:
        _say(str(refused))
        return 2
    switches = topology.read(args.topology) if args.topology else []
    if collector:
        collector.start()
    try:
        serve.serve(Place(path, collector, everyone=args.all_users, topology=tuple(switches)), listener, _token(args.token_file),
                    lambda address, _: print(f"headrace monitor: {address}", flush=True))
    finally:
        if collector:
            collector.stop()
    return 0


def _open(args: argparse.Namespace) -> int:
    if not args.open.exists():
        raise Unreadable(f"{args.open}: No such file; --open takes a saved run (--save), or the counters that mpiexec --save-counters wrote")
    with tempfile.TemporaryDirectory(prefix="headrace-monitor-") as folder:
        with open(own_files.open_regular(args.open, 1 << 62), "rb") as file:
            is_counters = file.read(8) == MAGIC
        path = _counters_as_history(args.open, folder) if is_counters else args.open
        check(path, _CHECK_SECONDS)
        return _serve(args, path, None)


def _live(args: argparse.Namespace) -> int:
    path = args.history or default_path()
    rules = read_rules(args.alerts) if args.alerts else None
    with tempfile.TemporaryDirectory(prefix="headrace-monitor-") as folder:
        try:
            history = History(path, args.history_size << 20)
        except (Busy, OSError) as error:
            _say(f"{sentence(error)}; what this one sees is kept only while it runs")
            history = History(Path(folder) / "history.sqlite", args.history_size << 20)
        for remark in history.remarks:
            _say(remark)
        gather = sender = None
        try:
            gather = _gather(args) if args.reports else None
            collector = Collector(gather or Pages(everyone=args.all_users), history, Host(), args.interval or 1.0, rules and Alerts(rules))
            if gather:
                gather.collector = collector
                gather.start()
            if args.otlp is not None:
                sender = collector.sender = otlp.Sender(args.otlp, lambda: collector.state)
            return _serve(args, history.path, collector)
        finally:
            if sender:
                sender.close()
            if gather:
                gather.close()
            history.close()


def run(args: argparse.Namespace) -> int:
    os.umask(0o077)
    many_descriptors()
    try:
        return _save(args) if args.save else _open(args) if args.open else _report(args) if args.report_to else _live(args)
    except (Unreadable, Wrong, WrongRules, otlp.Wrong, topology.Wrong, Refused, CannotListen, secret.Unusable, counters.Problem, OSError, sqlite3.Error) as problem:
        _say(sentence(problem))
        return 2
    except KeyboardInterrupt:
        return 130
