"""The terminal of `headrace top`: its alternate screen, its size, and keys as they are typed."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import termios
import time
import tty

_HOME, _CLEAR, _BOLD, _PLAIN = "\x1b[H", "\x1b[J", "\x1b[1m", "\x1b[0m"
_OTHER_SCREEN, _SCREEN_BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_ENDS = (signal.SIGTERM, signal.SIGHUP)


def is_terminal() -> bool:
    """True if the output is a terminal that can show a screen."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def width() -> int | None:
    """Returns the columns of the terminal, or those of $COLUMNS; None: no limit."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return shutil.get_terminal_size().columns


class Screen:
    """Restores the terminal, however the program ends."""

    def __enter__(self) -> Screen:
        self._handlers = {number: signal.signal(number, self._end) for number in _ENDS}
        self._before = termios.tcgetattr(sys.stdin) if sys.stdin.isatty() else None
        if self._before:
            tty.setcbreak(sys.stdin)
        sys.stdout.write(_OTHER_SCREEN)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        sys.stdout.write(_SCREEN_BACK)
        sys.stdout.flush()

    @staticmethod
    def _end(number: int, _: object) -> None:
        sys.exit(128 + number)

    def show(self, said: str) -> None:
        lines = said.splitlines()
        room = max(2, shutil.get_terminal_size().lines - 3)
        rest = ""
        if len(lines) > room:
            rest = f"{len(lines) - room} more lines in a higher window; "
            lines = lines[:room]
        sys.stdout.write(f"{_HOME}{_CLEAR}{_BOLD}{lines[0]}{_PLAIN}\n" + "\n".join(lines[1:]) + f"\n\n{rest}q ends\n")
        sys.stdout.flush()

    def ended(self, seconds: float) -> bool:
        """Waits that long, or until q is typed; True if the program is to end."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self._before:
                time.sleep(left)
            elif select.select([sys.stdin], [], [], left)[0] and os.read(sys.stdin.fileno(), 1) in b"qQ":  # empty: the terminal is gone
                return True
        return False
