"""Runs programs that may fail, hang or print nothing, with a time limit; reads their JSON and reports their failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from headrace import own_files


class Failed(Exception):
    """A program produced no result; the message is a sentence with the reason. `said`: all of its output. `code`: its exit
    code, if it has ended by itself."""

    said = ""
    code: int | None = None


def run(command: list[str], timeout: float, env: dict[str, str] | None = None) -> str:
    """Returns standard output and standard error of a successful program. Ends a program that takes too long, with its
    children."""
    try:
        child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                                 env={**os.environ, **(env or {})})
    except OSError as error:
        raise Failed(f"{command[0]} cannot be started: {error.strerror}") from error
    try:
        text, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"no result in {timeout:.0f} s") from None
    finally:
        if child.poll() is None:
            _end(child)
    if child.returncode != 0:
        failed = Failed(_reason(text, child.returncode))
        failed.said, failed.code = text, child.returncode
        raise failed
    return text


def run_json(command: list[str], timeout: float, env: dict[str, str] | None = None, elsewhere: bool = False) -> dict:
    """Returns the JSON that a benchmark writes with --json. `elsewhere`: rank 0 may be on another host, which lacks this host's
    files."""
    if elsewhere:
        return _json_in(run([*command, "--json", "-"], timeout, env), Path(command[0]).name)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as work:
        file = Path(work) / "result.json"
        run([*command, "--json", file], timeout, env)
        try:
            return json.loads(own_files.read_text(file, 1 << 26))
        except (OSError, ValueError, RecursionError) as error:
            raise Failed(f"{Path(command[0]).name} left no result: {error}") from error


def _json_in(text: str, name: str) -> dict:
    """Returns the JSON object from output that may contain other lines around it."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except ValueError as error:
        raise Failed(f"{name} left no result: {error}") from error


def _end(child: subprocess.Popen) -> None:
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            pass
        try:
            child.communicate(timeout=patience)
            return
        except subprocess.TimeoutExpired:
            continue


def _reason(text: str, code: int) -> str:
    # Headings and this note contain no reason.
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("#", "mpiexec: oversubscribed"))]
    said = next((line for line in lines if "error" in line.lower() or ": " in line), lines[-1] if lines else "")
    return (f"exit code {code}" if code >= 0 else f"killed by signal {-code}") + (f": {said[:300]}" if said else "")
