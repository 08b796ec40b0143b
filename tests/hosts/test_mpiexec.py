"""Headrace's mpiexec on several hosts: starts, placement, output, input, signals, ends and faults. Seen from the outside.

Run by namespace_test.py with four hosts up, or by hand: HR_HOSTS is the program that creates hosts from namespaces,
HR_HOSTS_CLUSTER the name of a cluster of four, HR_MPIEXEC and HR_BUILD the tested build.
    test_mpiexec.py [unittest's words]
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HOSTS = os.environ["HR_HOSTS"]
NAMES = os.environ.get("HR_HOST_NAMES", "h1 h2 h3 h4").split()
BUILD = os.environ["HR_BUILD"]
MPIEXEC = os.environ["HR_MPIEXEC"]
PROBE = f"{BUILD}/tests/fault/launch_probe"
LATE_MESSAGE = f"{BUILD}/tests/hosts/late_message"
SILENCE = 2  # seconds that a host may be silent in these tests; it is considered lost after twice that
END = SILENCE + 10
A, B, C, D = NAMES[:4]


def hosts(*words, check=True) -> str:
    done = subprocess.run([HOSTS, *words], capture_output=True, text=True, check=False, timeout=60)
    if check and done.returncode != 0:
        raise AssertionError(f"hosts {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def init_processes() -> dict[str, int]:
    """Returns the first process of each host, by its pid outside the host."""
    found, cluster = {}, ""
    for line in hosts("list", check=False).splitlines():  # other clusters start and end
        if line.startswith("cluster "):
            cluster = line.split()[1].rstrip(":")
        elif match := re.match(r"  (\S+) .*\bprocess (\d+)", line):
            if cluster == os.environ["HR_HOSTS_CLUSTER"]:
                found[match[1]] = int(match[2])
    return found


def words_of(pid) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def environment_of(pid) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def all_pids():
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and int(each.name) != os.getpid()]


def host_of(pid, inits) -> str:
    """Returns the host in which a process is; empty if it is in none of the test's hosts."""
    try:
        space = os.readlink(f"/proc/{pid}/ns/pid")
        return next((name for name, init in inits.items() if os.readlink(f"/proc/{init}/ns/pid") == space), "")
    except OSError:
        return ""


def agents(host=None) -> list[int]:
    inits = init_processes()
    found = [pid for pid in all_pids() if (words := words_of(pid))[1:] == ["--agent"] and "mpiexec" in words[0]]
    return [pid for pid in found if host_of(pid, inits) in ([host] if host else inits)]


def inner_agents(host) -> list[int]:
    """Returns agents that run ranks, without the processes that wrap them."""
    found = agents(host)
    parents = {int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) for pid in found}
    return [pid for pid in found if pid not in parents]


def tries_in_vain(host) -> int:
    """Returns the number of successive TCP retransmissions on the host's worst connection; each pause is twice the
    previous one."""
    return max(map(int, re.findall(r"backoff:(\d+)", hosts("exec", host, "ss", "-tin"))), default=0)


def refused_attempts(host) -> int:
    """Returns the number of connections that the system could not make on that host."""
    names, values = re.findall(r"Tcp: (.*)", hosts("exec", host, "cat", "/proc/net/snmp"))
    return int(dict(zip(names.split(), values.split()))["AttemptFails"])


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.05)
    return value


def full_pipes(processes, written):
    """True if no process has written since ten calls before, and each is blocked. `written`: the same dictionary in each call."""
    now = [Path(f"/proc/{process}/io").read_text() for process in processes]
    blocked = all(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "S" for process in processes)
    written["calls"] = written.get("calls", 0) + 1 if blocked and now == written.get("last") else 0
    written["last"] = now
    return written["calls"] >= 10


class HostsTest(unittest.TestCase):
    """Every test also checks that nothing of its jobs is left on any host: processes, shared memory."""

    def setUp(self):
        self.mark = f"HR_TEST_MARK={self.id()}-{time.monotonic_ns()}"
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:  # a test that failed
                for pid in self.marked():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                child.kill()
                print(f"--- {self.id()}: its job printed\n" + "".join(text or "" for text in child.communicate()), file=sys.stderr)
        end = time.monotonic() + 10
        while left := self.left():
            if time.monotonic() > end:
                self.fail(f"left over: {left}")
            time.sleep(0.1)

    def marked(self):
        return [pid for pid in all_pids() if self.mark.encode() in environment_of(pid).split(b"\0")]

    def running(self, *words):
        """Returns processes of this test's jobs whose command line begins with these words: other clusters may run the
        same."""
        return [pid for pid in self.marked() if words_of(pid)[:len(words)] == list(words)]

    def left(self):
        marked = [f"{pid} {words_of(pid)}" for pid in self.marked()]
        files = [str(path) for init in init_processes().values()
                 for path in Path(f"/proc/{init}/root/dev/shm").glob("headrace*")]
        return marked + [f"agent {pid}" for pid in agents()] + files

    def start(self, *words, on=A, limit=120, environment=None, **options):
        name, value = self.mark.split("=", 1)
        everything = {**os.environ, name: value, **(environment or {})}
        everything.pop("HEADRACE_AS_HOSTS", None)
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        child = subprocess.Popen([HOSTS, "exec", on, "timeout", "-s", "KILL", str(limit), MPIEXEC, "--bind-to", "none",
                                  *words], env=everything, text=True, **options)
        self.children.append(child)
        return child

    def run_on(self, *words, limit=60, input=None, **options):
        if input is not None:
            options["stdin"] = subprocess.PIPE
        child = self.start(*words, limit=limit, **options)
        out, errors = child.communicate(input, timeout=limit + 20)
        return subprocess.CompletedProcess(words, child.returncode, out, errors)

    def assert_ended(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def assert_one_message(self, done, code, *words):
        self.assert_ended(done, code, *words)
        self.assertEqual(len(re.findall("^mpiexec: ", done.stderr, re.MULTILINE)), 1, done.stderr)

    def mpiexec_pid(self):
        """mpiexec's pid outside the hosts."""
        def find():
            return [pid for pid in all_pids() if words_of(pid)[:1] == [MPIEXEC] and words_of(pid)[1:2] != ["--agent"]
                    and self.mark.encode() in environment_of(pid).split(b"\0")]
        return wait_for(find, 20, "mpiexec runs")[0]


class Places(HostsTest):
    def places(self, *words, **options) -> list[str]:
        """The host of each rank."""
        done = self.run_on(*words, "sh", "-c", "echo $PMI_RANK $(hostname) $MPI_LOCALRANKID/$MPI_LOCALNRANKS", **options)
        self.assert_ended(done, 0)
        lines = [line.split() for line in sorted(done.stdout.splitlines(), key=lambda line: int(line.split()[0]))]
        self.assertEqual([int(line[0]) for line in lines], list(range(len(lines))))
        seen = {}
        for _, host, place in lines:
            self.assertEqual(place, f"{seen.setdefault(host, 0)}/{sum(line[1] == host for line in lines)}")
            seen[host] += 1
        return [line[1] for line in lines]

    def test_lists(self):
        for words, expected in (
            (f"--hosts {A}:1,{B}:2 -n 3", [A, B, B]), (f"-host {B},{A}", [B, A]), (f"-H {B}:2,{C} -n 2", [B, B]),
            (f"--hosts {A},{B} -n 4", [A, A, B, B]), (f"-hosts {B},{C} -ppn 2", [B, B, C, C]),
            (f"-hosts {A}:4,{B}:4 -n 4 --map-by node", [A, B, A, B]), (f"--hosts {A},{B},{A} -n 3", [A, A, B]),
            (f"--hosts {A},{B},{C} --nodes 2", [A, B]), (f"--hosts {A},{B} --nolocal -n 2", [B, B]),
            (f"--hosts localhost,10.77.0.2", [A, B]),
        ):
            with self.subTest(words):
                self.assertEqual(self.places(*words.split()), expected)

    def test_files(self):
        with tempfile.NamedTemporaryFile("w", dir=BUILD, suffix=".hosts") as file:
            file.write(f"# mine\n{B} slots=2 max_slots=4\n{C}:1\n{D}\n")
            file.flush()
            for word in ("-f", "--hostfile", "-machinefile"):
                self.assertEqual(self.places(word, file.name), [B, B, C, D])

    def test_programs_with_hosts_of_their_own(self):
        done = self.run_on("-n", "1", "--hosts", B, "sh", "-c", "echo one $PMI_RANK $(hostname)",
                           ":", "-n", "2", "--hosts", C, "sh", "-c", "echo two $PMI_RANK $(hostname)")
        self.assertEqual(sorted(done.stdout.splitlines()), [f"one 0 {B}", f"two 1 {C}", f"two 2 {C}"], done.stderr)

    def test_more_ranks_than_slots_is_said(self):
        done = self.run_on("-n", "5", "--hosts", f"{A}:2,{B}:1", "hostname")
        self.assert_ended(done, 0, f"oversubscribed: 3 ranks on {A}, which has 2 slots, and more than they have on 1 other host")
        self.assertEqual(sorted(done.stdout.split()), [A] * 3 + [B] * 2)

    def test_ranks_run_where_they_were_placed(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("one CPU")
        script = "echo $PMI_RANK $(hostname) $(sed -n 's/Cpus_allowed_list://p' /proc/self/status)"
        first, second = cpus[0], cpus[1]
        for words, expected in (
            ("--bind-to core", [(A, first), (A, second), (B, first), (B, second)]),
            ("--map-by node --bind-to core", [(A, first), (B, first), (A, second), (B, second)]),
            ("--map-by bunch --rank-by node --bind-to core", [(A, first), (B, first), (A, second), (B, second)]),
            (f"--bind-to user:{second},{first}", [(A, second), (A, first), (B, second), (B, first)]),
        ):
            with self.subTest(words):
                done = self.run_on("-n", "4", "--hosts", f"{A}:2,{B}:2", *words.split(), "--report-bindings", "sh", "-c", script)
                self.assert_ended(done, 0)
                lines = [line.split() for line in sorted(done.stdout.splitlines())]
                self.assertEqual([(host, int(cpu)) for _, host, cpu in lines], expected)
                for rank, (host, cpu) in enumerate(expected):
                    self.assertRegex(done.stderr, rf"rank {rank} .*\b{host}\b.* is bound to CPU {cpu}")
                for host in (A, B):
                    self.assertRegex(done.stderr, rf"(?m)^{host}: \d+ socket")

    def test_what_is_not_possible_elsewhere_ends_the_job(self):
        # mpiexec has no ranks of its own here, so only the agent detects that.
        done = self.run_on("-n", "1", "--hosts", B, "--bind-to", "user:4000", "echo", "ran")
        self.assert_ended(done, 2, f"cannot place ranks on host {B}: ", "CPU 4000")
        self.assertEqual(done.stdout, "")

    def test_allocations(self):
        slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "h[1-2,4]", "SLURM_TASKS_PER_NODE": "2,1(x2)",
                 "HEADRACE_LAUNCHER": "ssh"}
        self.assertEqual(self.places(environment=slurm), ["h1", "h1", "h2", "h4"])
        self.assertEqual(self.places("-n", "2", "--hosts", C, environment=slurm), [C, C])
        with tempfile.NamedTemporaryFile("w", dir=BUILD) as file:
            file.write(f"{A}\n{A}\n{B}\n")
            file.flush()
            self.assertEqual(self.places(environment={"PBS_NODEFILE": file.name}), [A, A, B])

    def test_what_ranks_know_of_places(self):
        for degree in ("1", "2", "32"):
            with self.subTest(degree):
                done = self.run_on("-n", "8", "--hosts", ",".join(f"{name}:2" for name in NAMES), PROBE, "init", "hello",
                                   "here", "exchange", "finalize",
                                   environment={"HEADRACE_LAUNCH_DEGREE": degree})
                self.assert_ended(done, 0)
                lines = re.findall(r"^rank (\d) of 8 app 0 nodes (\d+) launcher 1", done.stdout, re.MULTILINE)
                self.assertEqual(sorted(lines), [(str(rank), "00112233") for rank in range(8)])
                self.assertEqual(len(re.findall("^2 here", done.stdout, re.MULTILINE)), 8)

    def test_ranks_that_only_another_host_has(self):
        done = self.run_on("-n", "3", "--hosts", f"{C}:2,{B}", "--as-hosts", "1", PROBE, "init", "hello", "exchange", "finalize")
        self.assertIn("nodes 001 ", done.stdout, done.stderr)
        done = self.run_on("-n", "4", "--hosts", f"{C}:4", "--as-hosts", "2", PROBE, "init", "hello", "here", "finalize")
        self.assertIn("nodes 0011 ", done.stdout, done.stderr)
        self.assertEqual(done.stdout.count("4 here"), 4)


class Programs(HostsTest):
    def test_messages(self):
        for words in (["tests/mpi/mpi_ordering"], ["gpu_tests/mpi_random_exchange", "--seed", "5", "--exchanges", "100"]):
            if os.path.exists(f"{BUILD}/{words[0]}"):
                done = self.run_on("-n", "4", "--hosts", f"{A}:2,{B}:2", f"{BUILD}/{words[0]}", *words[1:], limit=100)
                self.assert_ended(done, 0)
                self.assertEqual(done.stdout.splitlines()[-1:], ["ok"], done.stderr)


class Output(HostsTest):
    def test_lines_stay_whole_and_in_order(self):
        program = ("import os, sys\n"
                   "for line in range(3000):\n"
                   "  text = f'{os.environ[\"PMI_RANK\"]} {line} ' + 'x' * (line * 7 % 300) + '.\\n'\n"
                   "  half = len(text) // 2\n"
                   "  for part in (text[:half], text[half:]): os.write(1 + line % 2, part.encode())\n")
        done = self.run_on("-l", "-n", "8", "--hosts", ",".join(f"{name}:2" for name in NAMES), "python3", "-c", program,
                           environment={"HEADRACE_LAUNCH_DEGREE": "2"})
        self.assert_ended(done, 0)
        for parity, text in ((0, done.stdout), (1, done.stderr)):
            lines = text.splitlines()
            self.assertEqual(len(lines), 8 * 1500)
            for rank in range(8):
                mine = [line for line in lines if line.startswith(f"[{rank}] ")]
                expected = [f"[{rank}] {rank} {line} " + "x" * (line * 7 % 300) + "." for line in range(parity, 3000, 2)]
                self.assertEqual(mine, expected)

    def test_all_of_it_when_a_rank_fails(self):
        done = self.run_on("-n", "2", "--hosts", f"{A},{B}", "sh", "-c",
                           "[ $PMI_RANK = 0 ] && exec sleep 60; yes 0123456789 | head -n 5000; printf end; exit 5")
        self.assert_ended(done, 5)
        self.assertEqual(done.stdout, "0123456789\n" * 5000 + "end")

    def test_a_slow_reader_holds_ranks_back(self):
        child = self.start("-n", "2", "--hosts", f"{B},{C}", "sh", "-c", "yes 0123456789abcde | head -c 300000000",
                           environment={"HEADRACE_HOST_TIMEOUT": str(SILENCE), "HEADRACE_LAUNCH_DEGREE": "1"})
        root = self.mpiexec_pid()
        wait_for(lambda: len(agents()) == 4, 30, "agents run")
        most = 0
        end = time.monotonic() + 3 * SILENCE  # longer than a host may be silent
        while time.monotonic() < end:
            sizes = [re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()) for pid in [root, *agents()]]
            most = max(most, *(int(size[1]) for size in sizes if size))
            time.sleep(0.2)
        self.assertLess(most, 60000, "KiB of a process while nobody reads")
        self.assertIsNone(child.poll())
        total = 0
        while piece := os.read(child.stdout.fileno(), 1 << 20):
            total += len(piece)
        self.assertEqual(child.wait(60), 0)
        self.assertEqual(total, 2 * 300000000)

    def test_a_reader_that_leaves(self):
        child = self.start("-n", "2", "--hosts", f"{A},{B}", "yes")
        child.stdout.readline()
        child.stdout.close()
        errors = child.stderr.read()
        self.assertEqual(child.wait(30), 128 + signal.SIGPIPE, errors)

    def test_files(self):
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            done = self.run_on("-n", "2", "--hosts", f"{A},{B}", "--output-filename", folder, "sh", "-c", "hostname; echo e >&2")
            self.assert_ended(done, 0)
            for rank, host in ((0, A), (1, B)):
                self.assertEqual(Path(f"{folder}/1/rank.{rank}/stdout").read_text(), f"{host}\n")
                self.assertEqual(Path(f"{folder}/1/rank.{rank}/stderr").read_text(), "e\n")


    def test_a_reader_that_comes_after_the_end(self):
        for places in (A, B, f"{A},{B}"):
            with self.subTest(places):
                child = self.start("-n", "2", "--hosts", places, "yes", 70 * "x")
                ranks = wait_for(lambda: (found := self.running("yes"))[1:] and found, 20, "both ranks run")
                written = {}
                wait_for(lambda: full_pipes(ranks, written), 20, "all pipes are full")
                os.kill(ranks[1], signal.SIGKILL)
                wait_for(lambda: not self.running("yes"), 10, "the ranks end")
                out, errors = child.communicate(timeout=20)
                self.assertEqual(child.returncode, 137, errors)
                self.assertEqual(errors.count("was killed by signal 9"), 1, errors)
                self.assertEqual(set(out), {"x", "\n"})


class Input(HostsTest):
    TEXT = "".join(f"line {number}\n" for number in range(200000))

    def test_rank_0_elsewhere_gets_it(self):
        for place in (f"{B},{A}", f"{D},{B}", f"{A},{B}"):
            with self.subTest(place):
                done = self.run_on("-n", "2", "--hosts", place, "sh", "-c", "[ $PMI_RANK = 0 ] && exec cat; [ $(wc -c) = 0 ]",
                                   input=self.TEXT)
                self.assert_ended(done, 0)
                self.assertTrue(done.stdout == self.TEXT, f"{len(done.stdout)} of {len(self.TEXT)}")

    def test_a_file_and_one_that_is_not_read(self):
        with tempfile.TemporaryFile("w+", dir=BUILD) as file:
            file.write(self.TEXT)
            file.seek(0)
            done = self.run_on("-n", "1", "--hosts", B, "md5sum", stdin=file)
            self.assertIn(__import__("hashlib").md5(self.TEXT.encode()).hexdigest(), done.stdout)
            file.seek(0)
            self.assert_ended(self.run_on("-n", "1", "--hosts", B, "head", "-n", "1", stdin=file), 0)
            file.seek(0)
            self.assert_ended(self.run_on("-n", "1", "--hosts", B, "true", stdin=file), 0)


class Words(HostsTest):
    ODD = ["", "a b", "'", '"', "$(touch /tmp/odd)", "`id`", "!x", "\\", "two\nlines", "*", "-n", ";exit 3", "\u00fc", "%s"]

    def test_arguments_and_variables(self):
        program = "import os, sys; print(repr((sys.argv[1:], os.environ['ODD'], os.getcwd(), oct(os.umask(0)))))"
        done = self.run_on("-n", "2", "--hosts", f"{A},{B}", "-genv", "ODD", "x'\"\n$y", "python3", "-c", program, *self.ODD,
                           cwd=BUILD, umask=0o027)
        self.assert_ended(done, 0)
        self.assertEqual(done.stdout.splitlines(), [repr((self.ODD, "x'\"\n$y", os.path.realpath(BUILD), "0o27"))] * 2)

    def test_directory(self):
        done = self.run_on("-n", "2", "--hosts", f"{A},{B}", "-wdir", "tests", "pwd", cwd=BUILD)
        self.assertEqual(done.stdout, f"{os.path.realpath(BUILD)}/tests\n" * 2, done.stderr)

    @staticmethod
    def listening() -> list[str]:
        said = hosts("exec", A, "ss", "-ltn") + hosts("exec", B, "ss", "-ltn")
        return sorted(set(re.findall(r"LISTEN\s+\d+\s+\d+\s+(\S+)", said)))

    def test_ranks_listen_on_addresses_of_their_hosts_while_they_run(self):
        before = self.listening()
        program = [f"{BUILD}/gpu_tests/mpi_random_exchange", "--exchanges", "1000000000"]
        child = self.start("-n", "2", "--hosts", f"{A},{B}", *program)
        own = [f"10.77.0.{NAMES.index(host) + 1}:" for host in (A, B)]
        def ports():
            return set(self.listening()) - set(before)
        wait_for(lambda: all(any(port.startswith(address) for port in ports()) for address in own), 20, "ranks listen")
        self.assertEqual([port for port in ports() if not port.startswith((*own, "127.0.0.1:"))], [])
        os.kill(self.mpiexec_pid(), signal.SIGTERM)
        child.communicate(timeout=30)
        self.assertEqual(self.listening(), before)

    def test_nothing_of_the_job_is_on_a_command_line_and_nothing_listens(self):
        before = self.listening()
        child = self.start("-n", "2", "--hosts", f"{A},{B}", PROBE, "init", "hang", "secret-word")
        wait_for(lambda: agents(B), 20, "an agent")
        wait_for(lambda: len(self.running(PROBE)) == 2, 20, "two ranks")
        shells = [words for pid in all_pids() if (words := words_of(pid)) and "--agent" in " ".join(words)]
        self.assertTrue(shells)
        for words in shells:
            self.assertNotIn("secret-word", " ".join(words))
        self.assertEqual(self.listening(), before)
        os.kill(self.mpiexec_pid(), signal.SIGTERM)
        child.communicate(timeout=30)


class Ends(HostsTest):
    BOTH = ("-n", "4", "--hosts", f"{A}:2,{B}:2")

    def test_codes(self):
        self.assert_one_message(self.run_on(*self.BOTH, PROBE, "init", "fence", "exit=3@3", "hang"), 3,
                                f"rank 3 on host {B} (pid ", "exited with code 3 before MPI_Finalize")
        self.assert_one_message(self.run_on(*self.BOTH, PROBE, "init", "fence", "abort=7@2", "hang"), 7,
                                f"rank 2 on host {B} (pid ", "called MPI_Abort with code 7")
        self.assert_one_message(self.run_on(*self.BOTH, PROBE, "init", "fence", "raise=9@3", "hang"), 137,
                                f"rank 3 on host {B} (pid ", "killed by signal 9")
        self.assert_one_message(self.run_on(*self.BOTH, PROBE, "init", "fence", "exit=0@2", "hang"), 1,
                                f"rank 2 on host {B}", "without calling MPI_Finalize")
        self.assert_one_message(self.run_on(*self.BOTH, PROBE, "deaf", "orphan", "init", "shm", "fence", "exit=4@0", "hang"), 4,
                                f"rank 0 on host {A}")

    def test_a_rank_that_never_comes(self):
        for rank in (1, 2):
            self.assert_one_message(self.run_on(*self.BOTH, "sh", "-c", f"[ $PMI_RANK = {rank} ] || exec {PROBE} init fence hang"),
                                    1, f"rank {rank} on host", "ended without joining the others in MPI_Init")

    def test_going_on(self):
        done = self.run_on("-disable-auto-cleanup", *self.BOTH, "sh", "-c", "[ $PMI_RANK = 3 ] && exit 6; sleep 1; echo on")
        self.assert_ended(done, 6, f"rank 3 on host {B}", "the others continue")
        self.assertEqual(done.stdout, "on\n" * 3)

    def test_crash(self):
        done = self.run_on(*self.BOTH, f"{BUILD}/tests/fault/crash", "segv", "2")
        self.assertEqual(done.returncode, 139, done.stderr)
        self.assertIn(f"rank 2 on host {B} (pid ", done.stderr)

    def test_timeout(self):
        done = self.run_on("--timeout", "2", *self.BOTH, "sleep", "60")
        self.assert_ended(done, 124, "still running: rank 0-3", f"rank 0 on host {A} (pid ", f"rank 3 on host {B} (pid ")

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start(*self.BOTH, "sleep", "77")
            wait_for(lambda: len(self.running("sleep", "77")) == 4, 20, "ranks run")
            os.kill(self.mpiexec_pid(), number)
            out, errors = child.communicate(timeout=20)
            self.assertEqual(child.returncode, 128 + number)
            self.assertEqual(errors.count(f"interrupted by signal {int(number)}"), 1, errors)

    def test_user_signals(self):
        child = self.start(*self.BOTH, "sh", "-c", "trap 'echo got; exit 0' USR1; echo up; while :; do sleep 0.1; done")
        for _ in range(4):
            self.assertEqual(child.stdout.readline(), "up\n")
        os.kill(self.mpiexec_pid(), signal.SIGUSR1)
        out, errors = child.communicate(timeout=20)
        self.assertEqual((child.returncode, out), (0, "got\n" * 4), errors)

    def test_stopped_for_longer_than_a_host_may_be_silent(self):
        program = "n=0; while [ $n -lt 40 ]; do n=$((n + 1)); sleep 0.1; echo $n; done"
        child = self.start("-n", "2", "--hosts", f"{B},{C}", "sh", "-c", program, environment={"HEADRACE_HOST_TIMEOUT": "1"})
        child.stdout.readline()
        def shells():
            return self.running("sh", "-c", program)
        def state(pid):
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        wait_for(lambda: len(shells()) == 2, 10, "both ranks run")
        ranks = shells()
        os.kill(self.mpiexec_pid(), signal.SIGTSTP)
        wait_for(lambda: all(state(pid) == "T" for pid in ranks), 10, f"ranks {ranks} are stopped")
        time.sleep(3)  # longer than a silent host would get
        os.kill(self.mpiexec_pid(), signal.SIGCONT)
        out, errors = child.communicate(timeout=40)
        self.assertEqual((child.returncode, errors), (0, ""))
        self.assertEqual(out.split()[-1:], ["40"])


class Starts(HostsTest):
    def test_no_such_host(self):
        self.assert_one_message(self.run_on("-n", "2", "--hosts", f"{A},h77", "echo", "ran"), 1,
                                "cannot start ranks on host h77 (rank 1): ", "resolve")

    def test_a_host_that_refuses(self):
        self.assert_one_message(self.run_on("-n", "2", "--hosts", f"{A},{B}", "--launcher", "ssh -p 9", "echo", "ran"), 1,
                                f"cannot start ranks on host {B} (rank 1): ", "Connection refused")

    def test_what_is_missing_there(self):
        local = hosts("exec", A, "mktemp", "-d", "-p", "/run").strip()  # each host has its own /run
        hosts("exec", A, "cp", "/bin/echo", f"{local}/echo")
        done = self.run_on("-n", "2", "--hosts", f"{A},{B}", f"{local}/echo", "ran")
        self.assert_one_message(done, 127, f'cannot execute "{local}/echo" on host {B}: No such file')
        self.assertEqual(done.stdout, "")
        done = self.run_on("-n", "2", "--hosts", f"{A},{B}", "-wdir", local, "echo", "ran")
        self.assert_one_message(done, 127, f"directory {local} on host {B}: No such file")
        self.assertEqual(done.stdout, "")
        # A host without ranks of a program need not have that program.
        done = self.run_on("-n", "1", "--hosts", A, f"{local}/echo", "one", ":", "-n", "1", "--hosts", B, "echo", "two")
        self.assertEqual(sorted(done.stdout.split()), ["one", "two"], done.stderr)
        hosts("exec", A, "rm", "-r", local)

    def script(self, text) -> str:
        file = tempfile.NamedTemporaryFile("w", dir=BUILD, suffix=".sh", delete=False)
        self.addCleanup(os.unlink, file.name)
        file.write(f"#!/bin/sh\n{text}\n")
        file.close()
        os.chmod(file.name, 0o755)
        return file.name

    def test_shells_that_talk(self):
        noisy = self.script("echo Welcome to $1; printf 'headrace-agent 0.0 0123456789abcdef\\nno newline'; exec ssh -o BatchMode=yes \"$@\"")
        done = self.run_on("-n", "2", "--hosts", f"{A},{B}", "--launcher", noisy, "hostname")
        self.assert_ended(done, 0)
        self.assertEqual(sorted(done.stdout.split()), [A, B])

    def test_what_is_no_agent(self):
        for text, why in (("yes", "is not our mpiexec"), ("echo 'go away'; exit 4", "go away"),
                          ("sed 's/mpiexec/agent/;s/agent /agent 1.0 /'", "no answer"), ("exit 4", "ended with code 4"),
                          ("kill -9 $$", "killed by signal 9")):
            with self.subTest(text):
                done = self.run_on("-n", "2", "--hosts", f"{A},{B}", "--launcher", self.script(text), "echo", "ran",
                                   environment={"HEADRACE_HOST_TIMEOUT": "0.5"})
                self.assert_one_message(done, 1, f"cannot start ranks on host {B} (rank 1): ", why)
                self.assertEqual(done.stdout, "")

    def test_agents_are_for_mpiexec_alone(self):
        done = subprocess.run([MPIEXEC, "--agent"], input="run this\n", capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))


class Slurm(HostsTest):
    """Inside a Slurm job, no option is needed. Runs if the hosts have Slurm (`hosts slurm up`)."""

    def setUp(self):
        super().setUp()
        if subprocess.run([HOSTS, "exec", A, "sinfo"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no Slurm on these hosts")

    def slurm(self, *words, limit=60, **environment):
        name, value = self.mark.split("=", 1)
        child = subprocess.Popen([HOSTS, "exec", A, *words], env={**os.environ, name: value, **environment}, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.children.append(child)
        out, errors = child.communicate(timeout=limit)
        return subprocess.CompletedProcess(words, child.returncode, out, errors)

    def test_hosts_and_slots_of_the_job(self):
        for degree in ("32", "1"):
            done = self.slurm("salloc", "-Q", "-N", "3", "--ntasks-per-node", "2", MPIEXEC, "--bind-to", "none", PROBE, "init", "hello",
                              "exchange", "finalize", HEADRACE_LAUNCH_DEGREE=degree)
            self.assert_ended(done, 0)
            self.assertEqual(done.stdout.count(" of 6 app 0 nodes 001122 "), 6, done.stdout)

    def test_output_and_exit_code(self):
        done = self.slurm("salloc", "-Q", "-N", "2", MPIEXEC, "--bind-to", "none", "-l", "sh", "-c",
                          "seq 1 20000; [ $PMI_RANK = 0 ] && exec sleep 60; exit 5")
        self.assert_ended(done, 5, f"rank 1 on host {B}", "exited with code 5")
        mine = [line for line in done.stdout.splitlines() if line.startswith("[1] ")]
        self.assertEqual(mine, [f"[1] {number}" for number in range(1, 20001)])

    def test_a_job_that_is_cancelled(self):
        job = self.slurm("sbatch", "--parsable", "-N", "3", "-o", "/dev/null", "--wrap",
                         f"exec {MPIEXEC} --bind-to none {PROBE} init shm fence hang").stdout.strip()
        wait_for(lambda: len(agents()) >= 4 and len(self.running(PROBE)) == 3, 30, "ranks run")
        self.slurm("scancel", job)
        wait_for(lambda: not self.running(PROBE) and not agents(), 20, "all end")


class Faults(HostsTest):
    ALL = ("-n", "4", "--hosts", ",".join(NAMES[:4]))

    def tearDown(self):
        hosts("heal")
        hosts("up", "4")
        super().tearDown()

    def run_and(self, act, *words, degree="32", program=(PROBE, "init", "shm", "fence", "hang")):
        """Runs a job, calls `act` once all ranks are running, and returns the job and the time that it took to end."""
        child = self.start(*words, *program, environment={"HEADRACE_HOST_TIMEOUT": str(SILENCE), "HEADRACE_LAUNCH_DEGREE": degree})
        count = int(words[words.index("-n") + 1])
        wait_for(lambda: len(self.running(*program)) == count, 30, "ranks run")
        files = lambda: [1 for init in init_processes().values() for _ in Path(f"/proc/{init}/root/dev/shm").glob("headrace*")]
        wait_for(lambda: len(files()) == 4, 20, "files are there")
        act()
        begin = time.monotonic()
        out, errors = child.communicate(timeout=60)
        return subprocess.CompletedProcess(words, child.returncode, out, errors), time.monotonic() - begin

    def test_an_agent_that_is_killed(self):
        for degree in ("32", "1"):
            with self.subTest(degree):
                done, took = self.run_and(lambda: os.kill(inner_agents(B)[0], signal.SIGKILL), *self.ALL, degree=degree)
                self.assert_one_message(done, 1, f"lost host {B} (rank 1)", "killed by signal 9")
                self.assertLess(took, 10)

    def test_all_of_an_agent_is_killed(self):
        def kill():
            for pid in agents(C):
                os.kill(pid, signal.SIGKILL)
            # Files that no process was left to remove.
            for path in Path(f"/proc/{init_processes()[C]}/root/dev/shm").glob("headrace*"):
                path.unlink()
        done, took = self.run_and(kill, *self.ALL)
        self.assert_one_message(done, 1, f"lost host {C} (rank 2)")
        self.assertLess(took, 10)

    def test_an_agent_that_is_told_to_end(self):
        done, took = self.run_and(lambda: os.kill(inner_agents(D)[0], signal.SIGTERM), *self.ALL)
        self.assert_one_message(done, 1, f"lost host {D} (rank 3)", "signal 15")
        self.assertLess(took, 10)

    def test_an_agent_that_hangs(self):
        done, took = self.run_and(lambda: os.kill(inner_agents(B)[0], signal.SIGSTOP), *self.ALL)
        self.assert_one_message(done, 1, f"lost host {B} (rank 1)", f"no sign of life for {SILENCE} s")
        self.assertLess(took, END)

    def test_mpiexec_is_killed(self):
        for degree in ("32", "1"):
            with self.subTest(degree):
                self.run_and(lambda: os.kill(self.mpiexec_pid(), signal.SIGKILL), *self.ALL, degree=degree)
                hosts("exec", A, "sh", "-c", "rm -f /dev/shm/headrace*")  # of the host that has no processes
                wait_for(lambda: not self.left(), END, "nothing is left")

    def test_a_host_dies(self):
        for victim, degree, rest in ((C, "32", 3), (C, "1", 2)):
            with self.subTest(degree):
                done, took = self.run_and(lambda: hosts("kill", victim), *self.ALL, degree=degree)
                self.assert_one_message(done, 1, f"lost host {victim} (rank 2)", "no sign of life")
                self.assertLess(took, END)
                hosts("up", "4")

    def test_a_link_is_cut(self):
        for victim, degree in ((B, "32"), (B, "1"), (D, "2")):
            with self.subTest(f"{victim} {degree}"):
                done, took = self.run_and(lambda: hosts("partition", victim), *self.ALL, degree=degree)
                self.assert_one_message(done, 1, f"lost host {victim} (rank {NAMES.index(victim)})", "no sign of life")
                self.assertLess(took, END)
                # Nothing may be left beyond the cut link, either.
                wait_for(lambda: not self.left(), END, "nothing is left")
                hosts("heal")

    def test_a_link_that_heals_costs_time_only(self):
        program = "for n in 1 2 3 4 5 6 7 8 9 10; do echo $n; sleep 0.3; done"
        child = self.start("-n", "2", "--hosts", f"{A},{B}", "sh", "-c", program, environment={"HEADRACE_HOST_TIMEOUT": "6"})
        child.stdout.readline()
        hosts("partition", B)
        # 3 s and more: TCP retries after twice that, which is later than the time-out.
        wait_for(lambda: tries_in_vain(A) >= 4, 6, "TCP has tried four times")
        hosts("heal")
        out, errors = child.communicate(timeout=40)
        self.assertEqual((child.returncode, errors), (0, ""))
        self.assertEqual(sorted([*map(int, out.split())])[-2:], [10, 10])

    def test_messages_outlast_a_link_that_is_cut_for_less_than_the_time_out(self):
        # TCP tries after 0.2, 0.6, 1.4, 3 and 6.2 s: the fifth time is later than the time-out.
        ended = f"{BUILD}/cut_link.{os.getpid()}"
        self.addCleanup(Path(ended).unlink, missing_ok=True)
        child = self.start("-n", "2", "--hosts", f"{A},{B}", f"{BUILD}/gpu_tests/mpi_random_exchange", "--seed", "5", "--exchanges", "60",
                           "--largest", "65536", "--until", ended, environment={"HEADRACE_HOST_TIMEOUT": "30", "HEADRACE_NETWORK_TIMEOUT": "4"})
        between_ranks = ["ss", "-Htn", "state", "established", "( sport != :22 and dport != :22 )"]
        wait_for(lambda: hosts("exec", A, *between_ranks), 20, "the ranks are connected")
        hosts("partition", B)
        wait_for(lambda: max(tries_in_vain(A), tries_in_vain(B)) >= 4, 6, "TCP has tried four times")
        hosts("heal")
        with self.assertRaises(subprocess.TimeoutExpired):
            child.wait(6)
        Path(ended).touch()
        out, errors = child.communicate(timeout=40)
        self.assertEqual((child.returncode, errors), (0, ""), out)

    def test_a_first_message_outlasts_a_cut_link(self):
        """The system refuses the connection, as it finds no neighbour; the transport tries again."""
        child = self.start("-n", "2", "--hosts", f"{B},{C}", LATE_MESSAGE, stdin=subprocess.PIPE,
                           environment={"HEADRACE_HOST_TIMEOUT": "30", "HEADRACE_NETWORK": "tcp"})
        self.assertEqual(child.stdout.readline(), "waits\n")
        hosts("partition", C)
        child.stdin.write("\n")
        child.stdin.flush()
        wait_for(lambda: refused_attempts(B) > 0, 15, "the system refuses")
        hosts("heal")
        out, errors = child.communicate(timeout=60)
        self.assertEqual((child.returncode, out, errors), (0, "received\n", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
