"""MPI_Abort under another library's launcher, which ends the rank at once and reads nothing of its output after that."""

import os
import select
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "strangers"))
from other_launcher import Launcher  # noqa: E402

LAST_WORDS = os.environ["HR_LAST_WORDS"]
REASON = b"MPI_Abort: the program called it with code 3"
# The reader begins this late, which is longer than a rank takes from its last line to the launcher's.
LATE = 0.03


class Ending(Launcher):
    """Starts one rank, reads its output `LATE` seconds after the first of it, and ends it as soon as it asks for that."""

    def __init__(self, reads: bool) -> None:
        self.reads = reads
        self.printed = b""
        self.asked = threading.Event()
        super().__init__("kvs_1_0", 1, [LAST_WORDS, "abort"])

    def _start(self, rank: int, ranks: int, command: list[str]) -> subprocess.Popen:
        ours, theirs = socket.socketpair()
        self.line = ours
        self.output, written = os.pipe()
        environment = {**os.environ, "PMI_FD": str(theirs.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(ranks)}
        process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], stdout=written, stderr=written)
        theirs.close()
        os.close(written)
        return process

    def read(self) -> None:
        """Reads what has been printed, in a thread, until the rank asks for its end."""
        while not self.asked.is_set():
            ready, _, _ = select.select([self.output], [], [], 0.01)
            if ready and not self.asked.wait(LATE):
                self.printed += os.read(self.output, 65536)

    def run(self) -> None:
        reader = threading.Thread(target=self.read)
        if self.reads:
            reader.start()
        text = b""
        while not self.asked.is_set():
            data = self.line.recv(65536)
            if not data:
                break
            *lines, text = (text + data).split(b"\n")
            for each in lines:
                if each.startswith(b"cmd=abort"):
                    self.asked.set()
                else:
                    self.hear(self.line, each.decode())
        self.ended = time.monotonic()
        self.ranks[0].kill()
        self.ranks[0].wait()
        self.asked.set()
        if self.reads:
            reader.join()
        os.close(self.output)
        self.line.close()


class OtherLauncher(unittest.TestCase):
    def test_slow_reader_gets_the_whole_text(self):
        # On a loaded machine, the reader may get its turn only after the rank has stopped waiting for it.
        for _ in range(10):
            launcher = Ending(reads=True)
            launcher.run()
            if REASON in launcher.printed and b"said before" in launcher.printed:
                return
        self.fail(f"the text was lost each time; the last time, this was read: {launcher.printed!r}")

    def test_no_reader(self):
        begin = time.monotonic()
        launcher = Ending(reads=False)
        launcher.run()
        self.assertLess(launcher.ended - begin, 20)


if __name__ == "__main__":
    unittest.main()
