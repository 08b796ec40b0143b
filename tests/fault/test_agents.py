"""mpiexec and its agents, with "other hosts" that are all this one: a command in place of ssh runs its arguments here.

Tests that need real hosts (links that break, separate /dev/shm) are in tests/hosts/test_mpiexec.py.
"""

import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from launching import MPIEXEC, PROBE, FilesTest, LaunchTest, run

SHELL = '#!/bin/sh\nshift\nexec sh -c "$*"\n'
SILENCE = 1
MASK = (1 << 64) - 1


def siphash(key, text):
    """SipHash-2-4, implemented a second time."""
    def rotate(word, by):
        return (word << by | word >> (64 - by)) & MASK

    def rounds(count):
        nonlocal a, b, c, d
        for _ in range(count):
            a, c = (a + b) & MASK, (c + d) & MASK
            b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
            a = rotate(a, 32)
            c, a = (c + b) & MASK, (a + d) & MASK
            b, d = rotate(b, 17) ^ c, rotate(d, 21) ^ a
            c = rotate(c, 32)

    a, b = key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D
    c, d = key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xFF
    rounds(4)
    return a ^ b ^ c ^ d


def frame(payload):
    return struct.pack("<I", len(payload)) + payload


def message(kind, host=-1, rank=-1, numbers=(), text=b""):
    numbers = [*numbers, 0, 0, 0, 0][:4]
    return struct.pack("<8q", kind, host, rank, *numbers, len(text)) + text


def version():
    return subprocess.run([MPIEXEC, "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]


def executable(test, text):
    file = tempfile.NamedTemporaryFile("w", suffix=".shell", delete=False)
    test.addCleanup(os.unlink, file.name)
    file.write(text)
    file.close()
    os.chmod(file.name, 0o755)
    return file.name


def agents():
    """Agents started by this mpiexec's jobs, found by the command in place of ssh; the inner ones run ranks."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if (folder / "cmdline").read_bytes().split(b"\0")[1:2] == [b"--agent"]:
                if os.readlink(folder / "exe") == os.path.realpath(MPIEXEC):
                    found[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    return found


class AgentsTest(FilesTest):
    def setUp(self):
        super().setUp()
        self.shell = executable(self, SHELL)

    def words(self, hosts, ranks):
        return ("--launcher", self.shell, "--bind-to", "none", "-n", str(ranks), "--hosts", hosts)

    def start(self, *words, **environment):
        child = subprocess.Popen([MPIEXEC, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env={**os.environ, **environment})
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        return child

    def mine(self):
        mark = self.mark.encode()
        def is_mine(pid):
            try:
                return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                return False
        found = {pid: parent for pid, parent in agents().items() if is_mine(pid)}
        return [pid for pid in found if pid not in found.values()]


class Trees(AgentsTest):
    def test_of_any_degree(self):
        hosts = ",".join(f"a{number}" for number in range(9))
        for degree in ("1", "2", "3", "32"):
            with self.subTest(degree):
                result = run("-l", "--map-by", "node", *self.words(hosts, 18), PROBE, "place", "init", "hello", "exchange", "finalize",
                             env={**os.environ, "HEADRACE_LAUNCH_DEGREE": degree})
                self.assert_ended(result, 0)
                # All of them share memory, and so count as one host.
                lines = sorted(re.findall(r"^\[(\d+)\] rank (\d+) of 18 app 0 nodes (\d+)", result.stdout, re.MULTILINE))
                self.assertEqual(lines, sorted((str(rank), str(rank), "0" * 18) for rank in range(18)), result.stdout)
                places = sorted(re.findall(r"^\[(\d+)\] place (.*)$", result.stdout, re.MULTILINE))
                self.assertEqual(places, sorted((str(rank), f"{rank // 9} of 2") for rank in range(18)), result.stdout)

    def test_this_host_in_the_middle(self):
        result = run(*self.words("b,localhost:2,c,d", 5), PROBE, "place", "init", "hello", "exchange", "finalize",
                     env={**os.environ, "HEADRACE_LAUNCH_DEGREE": "2"})
        self.assert_ended(result, 0)
        self.assertEqual(result.stdout.count("nodes 00000 "), 5, result.stdout)
        self.assertEqual(sorted(re.findall("place .*", result.stdout)),
                         sorted(3 * ["place 0 of 1"] + ["place 0 of 2", "place 1 of 2"]), result.stdout)

    def test_a_message_names_the_host(self):
        for code, what in (("exit=9", "exited with code 9 before"), ("abort=9", "called MPI_Abort with code 9")):
            result = run(*self.words("b,c,d,e", 4), PROBE, "init", "fence", f"{code}@3", "hang",
                         env={**os.environ, "HEADRACE_LAUNCH_DEGREE": "1"})
            self.assert_ended(result, 9, "mpiexec: rank 3 on host e (pid ", what)


    def test_programs_one_after_another(self):
        program = f"{PROBE} init exchange hello finalize"
        wrapped = f"{sys.executable} -c 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))' {program}"
        result = run("--timeout", "40", *self.words("b,localhost,c", 6), "sh", "-c", f"{program} && {wrapped} && {program}",
                     env={**os.environ, "HEADRACE_LAUNCH_DEGREE": "1"})
        self.assert_ended(result, 0)
        lines = re.findall(r"rank (\d) of 6 .* job (\S+)", result.stdout)
        self.assertEqual(len(lines), 18, result.stdout)
        for job in {job for _, job in lines}:
            self.assertEqual(sorted(rank for rank, its in lines if its == job), list("012345"))
        self.assertEqual(len({job for _, job in lines}), 3)

    def test_programs_in_the_background(self):
        words = self.words("localhost:1,b:2", 3)
        result = run(*words, "setsid", PROBE, "init", "exchange", "hello", "finalize")
        self.assert_ended(result, 0)
        self.assertEqual(sorted(" ".join(line.split()[:4]) for line in result.stdout.splitlines()),
                         [f"rank {rank} of 3" for rank in range(3)])
        result = run(*words, "setsid", PROBE, "init", "fence", "raise=9@2", "hang")
        self.assert_ended(result, 137, "rank 2", "killed by signal 9")

    def test_long_lines_stay_whole(self):
        script = "import sys\nfor line in range(3): print(sys.argv[1] * 2000000)"
        result = run(*self.words("b", 1), "python3", "-c", script, "a", ":", *self.words("c", 1), "python3", "-c", script, "b")
        self.assert_ended(result, 0)
        self.assertEqual(sorted((line[0], len(line), len(set(line))) for line in result.stdout.splitlines()),
                         [("a", 2000000, 1)] * 3 + [("b", 2000000, 1)] * 3)


class Ends(AgentsTest):
    def test_of_an_agent(self):
        for degree, lost in (("32", "lost host c (rank 1): "), ("1", "lost host c (rank 1), and with it d (rank 2): ")):
            for number, why in ((signal.SIGKILL, "killed by signal 9"), (signal.SIGSTOP, r"no sign of life for (\d+) s")):
                with self.subTest(f"{degree} {number}"):
                    child = self.start(*self.words("b,c,d", 3), "sh", "-c", "echo $PPID; exec sleep 60",
                                       HEADRACE_LAUNCH_DEGREE=degree, HEADRACE_HOST_TIMEOUT=str(SILENCE))
                    self.addCleanup(child.kill)
                    inner = [int(child.stdout.readline()) for _ in range(3)]
                    victim = self.agent_of_rank("1", inner)
                    os.kill(victim, number)
                    begin = time.monotonic()
                    _, errors = child.communicate(timeout=50)
                    took = time.monotonic() - begin
                    self.assertEqual(child.returncode, 1, errors)
                    self.assertIn(lost, errors)
                    self.assertRegex(errors, why)
                    # A host that reports many runnable threads may be silent for longer.
                    silent = [int(seconds) for seconds in re.findall(r"no sign of life for (\d+) s", errors)]
                    self.assertTrue(all(SILENCE <= each <= 10 * SILENCE for each in silent), errors)
                    self.assertLess(took, 2 * max(silent, default=SILENCE) + 15)

    def test_of_an_agent_of_a_job_that_goes_on(self):
        for degree, left in (("32", 2), ("1", 1)):
            with self.subTest(degree):
                child = self.start("--enable-recovery", *self.words("b,c,d", 3), os.environ["HR_RECOVER"], "wait",
                                   HEADRACE_LAUNCH_DEGREE=degree)
                self.addCleanup(child.kill)
                inner = [int(child.stdout.readline()) for _ in range(3)]
                os.kill(self.agent_of_rank("1", inner), signal.SIGKILL)
                output, errors = child.communicate(timeout=30)
                self.assertEqual(output, f"recovered, {left} are left\n" * left, errors)
                self.assertEqual(child.returncode, 1, errors)
                self.assertIn("lost host c (rank 1)", errors)
                self.assertIn("the others continue", errors)

    def agent_of_rank(self, rank, agents):
        """The agent of a rank; retries, since a rank in the middle of exec() has no environment."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for agent in agents:
                if self.rank_of_agent(agent) == rank:
                    return agent
        raise AssertionError(f"no agent in {agents} has rank {rank}")

    def rank_of_agent(self, agent):
        """Returns the rank of the agent's only child that is a rank."""
        children = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
        for child in children:
            for text in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                if text.startswith(b"PMI_RANK="):
                    return text.split(b"=")[1].decode()
        return None

    def test_of_mpiexec(self):
        for degree in ("32", "1"):
            child = self.start(*self.words("b,c,d", 3), "sh", "-c", "echo up; exec sleep 60", HEADRACE_LAUNCH_DEGREE=degree)
            for _ in range(3):
                child.stdout.readline()
            child.kill()
            child.communicate()
            end = time.monotonic() + 10
            while (left := self.mine()) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertFalse(left)

    grace = 10.0  # agents outlive a killed mpiexec for a while


# Message::Kind (launcher/wire/message.hpp).
PROBLEM = 16
OUTPUT = 19


class FakeAgents(LaunchTest):
    """Answers in place of an agent, with a valid proof, but then sends wrong messages."""

    def fake(self, sent):
        return executable(self, f"#!{sys.executable}\nimport sys, time\nsys.path[:0] = {[os.path.dirname(__file__)]!r}\n"
                          f"import os; os.environ['HR_MPIEXEC'] = {MPIEXEC!r}; os.environ['HR_PROBE'] = ''\n"
                          "from test_agents import *\n"
                          "hello = sys.stdin.readline().split()[1]\n"
                          "key = int(hello[:16], 16), int(hello[16:], 16)\n"
                          f"name = {version()!r}\n"
                          "print(f'headrace-agent {name} {siphash(key, name.encode()):016x}', flush=True)\n"
                          f"sys.stdout.buffer.write({sent!r})\nsys.stdout.flush()\n"
                          "while os.read(0, 1 << 20): pass\n")

    def test_end_the_job(self):
        generator = random.Random(6)
        noise = bytes(generator.randrange(256) for _ in range(4000))
        for sent in (frame(b""), frame(b"x" * 64), b"\xff\xff\xff\xff", noise, frame(message(200)), frame(message(1)),
                     frame(message(OUTPUT, rank=0, text=b"not mine\n")), frame(message(OUTPUT, rank=7, text=b"nobody's\n")),
                     frame(message(PROBLEM, host=0, text=b"other host")), frame(message(PROBLEM, host=9)),
                     frame(message(OUTPUT, rank=-2)), frame(message(0) + b"x"), frame(message(OUTPUT, rank=1)[:-8] + b"\xff" * 8)):
            with self.subTest(sent[:80]):
                result = run("--launcher", self.fake(sent), "-n", "2", "--hosts", "localhost,b", "echo", "ran")
                self.assert_ended(result, 1, "host b (rank 1): ", "is not a message of this version of mpiexec")
                self.assertNotIn("not mine", result.stdout)

    def test_that_know_their_manners_are_heard(self):
        sent = frame(message(PROBLEM, host=1, numbers=[42], text=b"cannot do it"))
        result = run("--launcher", self.fake(sent), "-n", "2", "--hosts", "localhost,b", "echo", "ran",
                     env={**os.environ, "HEADRACE_HOST_TIMEOUT": "1"})  # this agent does not answer when the job ends
        self.assert_ended(result, 42, "cannot do it")


class FakeParents(LaunchTest):
    """An agent whose parent sends a correct greeting and then garbage ends cleanly on its own."""

    def talk(self, sent):
        child = subprocess.Popen([MPIEXEC, "--agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            child.stdin.write(b"headrace-mpiexec " + b"0123456789abcdef" * 2 + b"\n")
            child.stdin.flush()
            self.assertEqual(child.stdout.readline(), b"\n")
            key = (0x0123456789ABCDEF, 0x0123456789ABCDEF)
            proof = f"headrace-agent {version()} {siphash(key, version().encode()):016x}\n"
            self.assertEqual(child.stdout.readline().decode(), proof)
            try:
                child.stdin.write(sent)
                child.stdin.flush()
            except BrokenPipeError:
                pass
            _, errors = child.communicate(timeout=30)
        finally:
            child.kill()
        self.assertIn(child.returncode, (0, 1), errors)
        self.assertNotIn(b"signal", errors)

    def test_that_send_anything(self):
        generator = random.Random(7)
        def noise(size):
            return bytes(generator.randrange(256) if generator.random() < 0.5 else 0 for _ in range(size))
        self.talk(b"")
        self.talk(b"\xff\xff\xff\x7f")
        self.talk(frame(message(2)))
        for _ in range(15):
            self.talk(frame(message(1, host=0, numbers=[1], text=noise(generator.randrange(2000)))))
            self.talk(noise(generator.randrange(300)))


if __name__ == "__main__":
    unittest.main()
