"""Strangers at the ports of a real monitor, and commands that others try to keep running. Each takes ten seconds or
more."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import unittest
import unittest.mock
import urllib.parse
import urllib.request
from pathlib import Path

import support
from support import fetch, wait_for
from test_hosts import Gathering
from test_strangers import Runs


def seldom_dropped(text, why):
    return int(re.search(rf'headrace_page_dropped_total{{why="{why}"}} (\d+)', text)[1])


@support.SERVER
class Port(support.Scratch):
    """The page of a real monitor that may open 512 files."""

    def setUp(self):
        super().setUp()
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))  # noqa: E731
        self.errors = open(self.folder / "errors", "w+")
        self.addCleanup(self.errors.close)
        self.monitor = subprocess.Popen([support.sys.executable, "-m", "headrace", "monitor", "--port", "0", "--history", str(self.folder / "h.sqlite")],
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=support.ROOT / "python", preexec_fn=limit)
        self.addCleanup(self.monitor.stdout.close)
        self.addCleanup(self.end)
        parts = urllib.parse.urlsplit(self.monitor.stdout.readline().split()[-1])
        self.port, self.token = parts.port, parts.query.partition("=")[2]
        self.address = f"http://127.0.0.1:{self.port}"
        self.open = []

    def end(self):
        for each in self.open:
            each.close()
        self.monitor.terminate()
        self.assertEqual(self.monitor.wait(20), 0)
        size = os.fstat(self.errors.fileno()).st_size
        self.errors.seek(0)
        said = self.errors.read(4000)
        self.assertLess(size, 1000, said)

    def get(self, path):
        return fetch(self.address + path, token=self.token)

    def half(self, text=b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        made.sendall(text)
        self.open.append(made)
        return made

    def memory(self):
        """Returns the most memory that the monitor has used, in bytes."""
        with open(f"/proc/{self.monitor.pid}/status", encoding="ascii") as file:
            return 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))

    def metric(self, why):
        return seldom_dropped(self.get("/metrics")[1].decode(), why)

    def test_a_thousand_half_requests(self):
        """They end neither the page nor the collector, even of a monitor that may open half as many files, and its memory is bounded."""
        self.get("/api/jobs")
        before, begun = self.memory(), b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: " + b"x" * 12_000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        page = urllib.request.Request(self.address + "/api/events", headers={"Authorization": f"Bearer {self.token}"})
        with support.urllib.request.urlopen(page, timeout=20) as stream:  # a page that is open stays open
            for number in range(1000):
                with contextlib.suppress(ConnectionError):  # refused while it is sent
                    self.half(begun if number % 2 else begun[:40])
                if number % 250 == 249:
                    self.assertEqual(self.get("/api/jobs")[0], 200)
            self.assertGreater(self.metric("crowd"), 700)
            grown = self.memory() - before
            print(f"memory grew by {grown / 1e6:.1f} MB")
            self.assertLess(grown, 16e6)
            seen = set()
            while len(seen) < 3:  # the collector continues
                line = stream.readline()
                if line.startswith(b"data: "):
                    said = json.loads(line[6:])
                    self.assertTrue(said["live"])
                    self.assertEqual([remark for remark in said["remarks"] if "failed" in remark], [])
                    seen.add(said["round"])

    def test_malformed_requests_do_not_fill_the_terminal(self):
        for number in range(300):
            made = self.half((b"\x16\x03\x01", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 20_000, b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")[number % 5])
            with contextlib.suppress(ConnectionError):
                made.shutdown(socket.SHUT_WR)
            self.open.pop().close()
        wait_for(lambda: self.metric("malformed") > 100, text="malformed requests that were counted")
        self.assertEqual(self.get("/api/jobs")[0], 200)


@support.SERVER
class Tokens(support.Scratch):
    def test_a_token_that_others_can_read_is_none(self):
        file = self.folder / "token"
        cases = [(0o666, "can be changed by others (mode 666)"), (0o604, "can be read by others"), (0o660, "can be changed by others")]
        for mode, sentence in cases:
            file.write_text("a-token-of-some-length-0123\n")
            file.chmod(mode)
            self.refused(file, sentence)
        file.chmod(0o600)
        for text, sentence in (("with spaces in between it\n", "spaces"), ("ä" * 20, "ASCII"), ("short", "at least 16")):
            file.write_text(text)
            self.refused(file, sentence)
        file.write_bytes(b"\xff" * 20)
        self.refused(file, "no text")
        file.write_text("x" * 10_000)
        self.refused(file, "are the most")
        file.unlink()
        os.mkfifo(file, 0o600)
        self.refused(file, "a FIFO")
        self.refused(Path("/dev/zero"), "a device")

    def refused(self, file, sentence):
        said = subprocess.run([support.sys.executable, "-m", "headrace", "monitor", "--port", "0", "--token-file", str(file), "--history", str(self.folder / "h.sqlite")],
                              capture_output=True, text=True, timeout=30, cwd=support.ROOT / "python")
        self.assertEqual((said.returncode, said.stdout), (2, ""), said.stderr)
        self.assertIn(sentence, said.stderr)
        self.assertNotIn("Traceback", said.stderr)


class Reports(Gathering):
    """The port of reports."""

    def connect(self, said=b""):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        self.addCleanup(made.close)
        with contextlib.suppress(OSError):
            made.sendall(said)
        return made

    def test_silent_connections_do_not_keep_the_right_one_from_reporting(self):
        with unittest.mock.patch("headrace.monitor.hosts.channel._GREETING_SECONDS", 600):  # the time limit has not expired
            for number in range(400):
                self.connect(b"" if number % 2 else b"HRREPRT1" + bytes(number % 90))
            self.reporter()
            self.rounds(self.all_there, "all ranks")

    def test_a_flood_of_them_does_not_either(self):
        stop = threading.Event()

        def flood():
            kept = []
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    kept.append(socket.create_connection(("127.0.0.1", self.port), timeout=5))
                if len(kept) > 300:
                    kept.pop(0).close()
            for each in kept:
                each.close()

        flooding = threading.Thread(target=flood)
        flooding.start()
        try:
            self.reporter()
            self.rounds(self.all_there, "all ranks")
        finally:
            stop.set()
            flooding.join()

    def test_many_wrong_secrets_are_two_lines(self):
        for _ in range(150):
            self.connect(b"HRREPRT1" + bytes(64))
        wait_for(lambda: self.gather._wrong.count >= 149 or None, text="that they are counted")
        self.assertEqual(len([line for line in self.said if "does not know the secret" in line]), 1)
        self.reporter()
        self.rounds(self.all_there, "all ranks")
        self.assertLessEqual(len(self.gather._refused), 64)

    def test_of_too_many_the_oldest_goes(self):
        with unittest.mock.patch("headrace.monitor.hosts.gather._STRANGERS_MOST", 8), \
                unittest.mock.patch("headrace.monitor.hosts.channel._GREETING_SECONDS", 600):
            many = [self.connect() for _ in range(20)]
            for number, each in enumerate(many):
                self.assertEqual(each.recv(100)[:8], b"HRREPRT1", number)
            self.assertEqual([each.recv(1) for each in many[:12]], [b""] * 12)
            self.assertEqual(len(self.gather._strangers), 8)
            self.reporter()
            self.rounds(self.all_there, "all ranks")

    def test_a_silent_one_is_closed(self):
        with unittest.mock.patch("headrace.monitor.hosts.channel._GREETING_SECONDS", 0.2):
            silent = self.connect()
            self.assertEqual(silent.recv(40)[:8], b"HRREPRT1")
            self.assertEqual(silent.recv(1), b"")

    def test_no_thread_is_made_for_a_stranger(self):
        before = threading.active_count()
        for _ in range(50):
            self.assertEqual(self.connect().recv(8), b"HRREPRT1")
        self.assertEqual(threading.active_count(), before)


class Commands(Runs):
    def test_open_says_what_is_wrong_and_ends(self):
        os.mkfifo(self.folder / "fifo")
        for file, sentence in ((self.change(*self.instead("jobs")), "no table jobs"), (self.folder / "fifo", "a FIFO"), (self.folder, "a directory"),
                               (Path("/dev/zero"), "a device")):
            said = subprocess.run([support.sys.executable, "-m", "headrace", "monitor", "--port", "0", "--open", str(file)], capture_output=True, text=True,
                                  timeout=30, cwd=support.ROOT / "python")
            self.assertEqual(said.returncode, 2, said.stderr)
            self.assertIn(sentence, said.stderr)
            self.assertNotIn("Traceback", said.stderr)

    def test_a_statement_without_end_hears_ctrl_c(self):
        child = subprocess.Popen([support.sys.executable, "-m", "headrace", "monitor", "export", str(self.path), "--form", "json", "--sql",
                                  "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n WHERE x = 3 OR x < 0"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=support.ROOT / "python",
                                 env={**os.environ, "PYTHONUNBUFFERED": "1"})
        self.addCleanup(child.kill)
        # Its processor time shows that it is working.
        ticks = lambda: sum(map(int, Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))  # noqa: E731
        wait_for(lambda: ticks() > 150, text="work")
        child.send_signal(signal.SIGINT)
        _, problems = child.communicate(timeout=10)
        self.assertEqual((child.returncode, "Traceback" in problems), (130, False), problems)


if __name__ == "__main__":
    unittest.main()
