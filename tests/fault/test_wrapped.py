"""Programs under shells, wrappers and parents that are not a user's shell; under limits; and their last words."""

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from launching import MPIEXEC, PROBE, FilesTest, LaunchTest, left_of, marked_processes, run

LAST_WORDS = os.environ["HR_LAST_WORDS"]
SANITIZED = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))
HELLO = [PROBE, "init", "exchange", "hello", "finalize"]
# A wrapper written in Python, which passes on only the standard descriptors.
WRAPPER = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


def jobs_of(text: str) -> dict[str, set[str]]:
    """Returns the ranks of each job in the probes' output, as "0 of 2"."""
    jobs: dict[str, set[str]] = {}
    for line in text.splitlines():
        words = line.split()
        jobs.setdefault(words[words.index("job") + 1], set()).add(" ".join(words[1:4]))
    return jobs


class Parents(FilesTest):
    """Parents of mpiexec: signals that they ignore or block do not affect the job."""

    def signals_of_ranks(self, ignored, blocked=()) -> dict[str, int]:
        def before():
            for each in ignored:
                signal.signal(each, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, blocked)

        result = run("-n", "1", "grep", "Sig", "/proc/self/status", preexec_fn=before, restore_signals=False)
        self.assert_ended(result, 0)
        return {line.split(":")[0]: int(line.split()[1], 16) for line in result.stdout.splitlines() if line[3] in "IB"}

    def test_ignored_children(self):
        for ending in (["finalize"], ["raise=9@1", "hang"]):
            with self.subTest(ending):
                result = run("-n", "2", PROBE, "init", "fence", *ending,
                             preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
                self.assert_ended(result, 0 if ending == ["finalize"] else 137)

    def test_ranks_ignore_what_a_user_asked_for(self):
        ignored = (signal.SIGCHLD, signal.SIGPIPE, signal.SIGALRM, signal.SIGXFSZ, signal.SIGTTOU, signal.SIGTSTP)
        kept = (signal.SIGHUP, signal.SIGUSR1)
        own = self.signals_of_ranks(ignored + kept)
        # posix_spawn(), as make uses it, ignores the two signals that glibc keeps for itself.
        visible = sum(1 << (each - 1) for each in signal.valid_signals())
        self.assertEqual(own["SigIgn"] & visible, sum(1 << (each - 1) for each in kept))

    def test_nothing_is_blocked(self):
        own = self.signals_of_ranks((), signal.valid_signals())
        self.assertEqual(own["SigBlk"], 0)

    def test_blocked_signals_reach_mpiexec(self):
        process = subprocess.Popen([MPIEXEC, "-n", "2", PROBE, "init", "hello", "hang"], stdout=subprocess.PIPE,
                                   preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()))
        process.stdout.readline()
        process.stdout.readline()
        process.terminate()
        self.assertEqual(process.wait(20), 143)
        process.stdout.close()

    def test_children_of_the_shell_that_became_mpiexec(self):
        with subprocess.Popen(["sh", "-c", f"sleep 100 & echo $!; exec {MPIEXEC} -n 1 true"], stdout=subprocess.PIPE,
                              text=True) as shell:
            sleeper = int(shell.stdout.readline())
            self.assertEqual(shell.wait(20), 0)
            os.kill(sleeper, signal.SIGKILL)  # raises an exception if the process has ended
            left_of(lambda: {sleeper} & set(marked_processes(self.mark)), 20)  # its end takes a moment


class Wrappers(FilesTest):
    def test_one_program_after_another(self):
        words = " ".join(HELLO)
        result = run("-n", "2", "--timeout", "30", "sh", "-c", f"{words} && {words}; {words}")
        self.assert_ended(result, 0)
        jobs = jobs_of(result.stdout)
        self.assertEqual(list(jobs.values()), [{"0 of 2", "1 of 2"}] * 3, result.stdout)

    def test_one_after_another_of_a_job_that_goes_on(self):
        words = f"{LAST_WORDS} work"
        result = run("-n", "2", "--timeout", "30", "--enable-recovery", "sh", "-c", f"{words} && {words}")
        self.assert_ended(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), ["ok 0/2"] * 2 + ["ok 1/2"] * 2)

    def test_messages_of_the_second(self):
        result = run("-n", "2", "--timeout", "30", "sh", "-c", f"{LAST_WORDS} work && {LAST_WORDS} work")
        self.assert_ended(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), ["ok 0/2"] * 2 + ["ok 1/2"] * 2)

    def test_programs_in_the_background(self):
        words = " ".join(HELLO)
        for wrapper in (["setsid"], ["setsid", "-w"], ["setsid", "-f"], ["nohup"], ["setsid", "nohup"]):
            with self.subTest(wrapper):
                result = run("-n", "2", "--timeout", "30", *wrapper, *HELLO)
                self.assert_ended(result, 0)
                self.assertEqual(list(jobs_of(result.stdout).values()), [{"0 of 2", "1 of 2"}], result.stdout)
        for script, jobs in ((f"{words} &", 1), (f"({words}; {words}) &", 2), (f"setsid sh -c '{words}' &", 1)):
            with self.subTest(script):
                result = run("-n", "2", "--timeout", "30", "sh", "-c", script)
                self.assert_ended(result, 0)
                self.assertEqual(list(jobs_of(result.stdout).values()), [{"0 of 2", "1 of 2"}] * jobs, result.stdout)

    def test_background_without_mpi(self):
        result = run("-n", "2", "--timeout", "30", "setsid", "sh", "-c", "sleep 1.5; echo done")
        self.assert_ended(result, 0)
        self.assertEqual(result.stdout, "done\ndone\n")

    def test_how_programs_in_the_background_end(self):
        for steps, code, words in (("raise=9@1", 137, "killed by signal 9"), ("exit=3@1", 3, "code 3 before"),
                                   ("exit=0@1", 1, "without calling MPI_Finalize"), ("abort=7@1", 7, "MPI_Abort")):
            with self.subTest(steps):
                result = run("-n", "2", "--timeout", "30", "setsid", PROBE, "init", "fence", steps, "hang")
                self.assert_ended(result, code, words)
        for wrapper in (["setsid"], ["setsid", "-w"]):
            with self.subTest(wrapper), subprocess.Popen(
                [MPIEXEC, "-n", "2", *wrapper, PROBE, "init", "hello", "hang"], stdout=subprocess.PIPE
            ) as job:
                job.stdout.readline()
                job.stdout.readline()
                job.terminate()
                self.assertEqual(job.wait(20), 143)
        with subprocess.Popen(
            [MPIEXEC, "-n", "1", "setsid", "sh", "-c", "echo begun; sleep 100"], stdout=subprocess.PIPE
        ) as job:
            job.stdout.readline()
            job.terminate()
            job.wait(20)

    def test_a_rank_without_a_second_program(self):
        words = " ".join(HELLO)
        result = run("-n", "2", "--timeout", "30", "sh", "-c", f"{words}; [ $PMI_RANK = 0 ] || {words}")
        self.assert_ended(result, 1, "ended without joining the others")

    def test_a_second_program_before_the_first_has_ended(self):
        result = run("-n", "1", "--timeout", "30", "sh", "-c", f"{PROBE} init; {PROBE} init finalize")
        self.assert_ended(result, 99, "has called MPI_Init but not MPI_Finalize")

    def test_closed_descriptors(self):
        result = run("-n", "2", "--timeout", "30", sys.executable, "-c", WRAPPER, *HELLO)
        self.assert_ended(result, 0)
        self.assertEqual(list(jobs_of(result.stdout).values()), [{"0 of 2", "1 of 2"}], result.stdout)

    def test_closed_and_inherited_ones_in_turn(self):
        words = " ".join(HELLO)
        wrapped = f"{sys.executable} -c '{WRAPPER}' {words}"
        result = run("-n", "2", "--timeout", "30", "sh", "-c", f"{wrapped} && {words} && {wrapped} && {wrapped}")
        self.assert_ended(result, 0)
        self.assertEqual(list(jobs_of(result.stdout).values()), [{"0 of 2", "1 of 2"}] * 4, result.stdout)

    def test_another_socket_under_its_number(self):
        script = """
import os, socket, subprocess, sys
one, other = socket.socketpair()
line = int(os.environ["PMI_FD"])
os.dup2(one.fileno(), line, inheritable=True)
sys.exit(subprocess.call(sys.argv[1:], pass_fds=[line]))
"""
        result = run("-n", "2", "--timeout", "30", sys.executable, "-c", script, *HELLO)
        self.assert_ended(result, 0)
        self.assertEqual(list(jobs_of(result.stdout).values()), [{"0 of 2", "1 of 2"}], result.stdout)

    def test_no_end_that_nobody_sees(self):
        result = run("-n", "2", "--timeout", "30", sys.executable, "-c", WRAPPER, PROBE, "init", "fence", "exit=0@1", "hang")
        self.assert_ended(result, 1, "ended without calling MPI_Finalize")

    def test_mpiexec_out_of_reach(self):
        # Like a container with its own network: the name resolves to nothing, but the launcher exists.
        script = """
import os, subprocess, sys
inode, launcher, space, name, secret = os.environ["PMI_HEADRACE"].split(":")
os.environ["PMI_HEADRACE"] = ":".join((inode, launcher, space, "nowhere" + name, secret))
sys.exit(subprocess.call(sys.argv[1:]))
"""
        result = run("-n", "2", "--timeout", "30", sys.executable, "-c", script, *HELLO)
        self.assert_ended(result, 99, "cannot reach mpiexec", "close_fds=False")
        # The same with its own process ids, among which the launcher's does not exist.
        own = script.replace("(inode, launcher, space,", '(inode, "2147483647", "1",')
        result = run("-n", "2", "--timeout", "30", sys.executable, "-c", own, *HELLO)
        self.assert_ended(result, 99, "cannot reach mpiexec")

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_another_user(self):
        # Like an image whose user is not that of mpiexec.
        result = run("-n", "1", "--timeout", "30", sys.executable, "-c", WRAPPER, "setpriv", "--reuid", "65534", "--clear-groups", *HELLO)
        self.assert_ended(result, 99, "mpiexec runs as user 0, and this program as user 65534 (in a container: --user 0)")

    def test_strangers(self):
        script = """
import os, socket, sys
inode, launcher, space, name, secret = os.environ["PMI_HEADRACE"].split(":")
wrong = secret[:-1] + ("1" if secret[-1] == "0" else "0")
for words in (b"cmd=join rank=0 secret=" + wrong.encode() + b"\\n", b"cmd=join rank=0\\n", b"x" * 100000, b"\\n"):
    with socket.socket(socket.AF_UNIX) as line:
        line.connect("\\0" + name)
        try:
            line.sendall(words)
            print(line.recv(100), flush=True)
        except OSError:
            print(b"", flush=True)
os.execv(sys.argv[1], sys.argv[1:])
"""
        result = run("-n", "1", "--timeout", "30", sys.executable, "-c", script, *HELLO)
        self.assert_ended(result, 0)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:4], ["b''"] * 4)
        self.assertIn("rank 0 of 1", lines[4])

    def test_what_a_program_starts_is_alone(self):
        # An MPI program started by a rank that is itself an MPI program.
        result = run("-n", "2", "--timeout", "30", PROBE, "init", "fence", f"start={' '.join(HELLO)}", "finalize")
        self.assert_ended(result, 0)
        self.assertEqual(sorted(jobs_of(result.stdout).values(), key=sorted), [{"0 of 1"}] * 2, result.stdout)

    def test_a_variable_that_outlives_its_job(self):
        old = run("-n", "1", "sh", "-c", "echo $PMI_HEADRACE").stdout.strip()
        result = subprocess.run(HELLO, capture_output=True, text=True, timeout=30, check=False,
                                env={**os.environ, "PMI_HEADRACE": old, "PMI_RANK": "0", "PMI_SIZE": "1", "PMI_FD": "9"})
        self.assertEqual((result.returncode, list(jobs_of(result.stdout).values())), (0, [{"0 of 1"}]), result.stderr)

    def test_another_launcher_s_line_that_was_closed_is_told(self):
        result = subprocess.run(HELLO, capture_output=True, text=True, timeout=30, check=False,
                                env={**os.environ, "PMI_RANK": "0", "PMI_SIZE": "2", "PMI_FD": "9"})
        self.assertIn("PMI_FD is 9, which is not an open socket", result.stderr)


class Killed(FilesTest):
    def test_programs_under_a_shell(self):
        for steps in ("init hello hang", "init hello deaf hang", "init hello orphan hang"):
            with self.subTest(steps):
                process = subprocess.Popen([MPIEXEC, "-n", "2", "sh", "-c", f"{PROBE} {steps}; true"], stdout=subprocess.PIPE)
                process.stdout.readline()
                process.stdout.readline()
                process.kill()
                process.wait()
                process.stdout.close()
                self.assertFalse(left_of(lambda: marked_processes(self.mark), 15))

    def test_with_its_group(self):
        process = subprocess.Popen([MPIEXEC, "-n", "2", "sh", "-c", f"{PROBE} init hello hang; true"], stdout=subprocess.PIPE,
                                   start_new_session=True)
        process.stdout.readline()
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        self.assertFalse(left_of(lambda: marked_processes(self.mark), 15))


class Output(LaunchTest):
    def test_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([MPIEXEC, "-n", "2", "echo", "text"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=30, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("cannot write standard output: No space left on device"), 1, result.stderr)
        with open("/dev/full", "wb") as full:
            result = subprocess.run([MPIEXEC, "-n", "1", "sh", "-c", "echo text >&2"], stderr=full, timeout=30, check=False)
        self.assertEqual(result.returncode, 1)

    def test_that_is_closed(self):
        for closed, stream in ((">&-", "output"), ("2>&-", "error")):
            with self.subTest(stream):
                script = f"{MPIEXEC} -n 2 sh -c 'echo text; echo text >&2' {closed}"
                result = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30, check=False)
                self.assertEqual(result.returncode, 1)
                if stream == "output":
                    self.assertIn("cannot write standard output: Bad file descriptor", result.stderr)
                else:
                    self.assertEqual(result.stdout, "text\ntext\n")
                quiet = subprocess.run(["sh", "-c", f"{MPIEXEC} -n 2 true {closed}"], capture_output=True, timeout=30, check=False)
                self.assertEqual(quiet.returncode, 0)

    def test_the_program_s_code_comes_before(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([MPIEXEC, "-n", "1", "sh", "-c", "echo text; exit 5"], stdout=full,
                                    stderr=subprocess.DEVNULL, timeout=30, check=False)
        self.assertEqual(result.returncode, 5)

    def test_beyond_the_limit_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run(["sh", "-c", f"ulimit -f 8; exec {MPIEXEC} -n 1 sh -c 'yes | head -c 100000' > {folder}/out"],
                                    stderr=subprocess.PIPE, text=True, timeout=30, check=False)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("cannot write standard output: File too large (ulimit -f)", result.stderr)

    def test_files_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run(["sh", "-c", f"ulimit -f 8; exec {MPIEXEC} -n 1 --output-filename {folder}/o:nocopy "
                                     "sh -c 'yes | head -c 100000'"], stderr=subprocess.PIPE, text=True, timeout=30, check=False)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("the rest of that output is not in the file", result.stderr)

    # Each rank is in the middle of a line when the other rank continues its own.
    LONG = """
import os, sys, time
name, other, folder = sys.argv[1:]
for line in range(3):
    sys.stdout.write(name * 1500000)
    sys.stdout.flush()
    open(f"{folder}/{name}{line}", "w").close()
    while not os.path.exists(f"{folder}/{other}{line}"):
        time.sleep(0.001)
    print(name * 1500000, flush=True)
"""

    def test_long_lines_stay_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("-n", "1", "python3", "-c", self.LONG, "a", "b", folder, ":",
                         "-n", "1", "python3", "-c", self.LONG, "b", "a", folder)
        self.assert_ended(result, 0)
        self.assertEqual(sorted((line[0], len(line), len(set(line))) for line in result.stdout.splitlines()),
                         [("a", 3000000, 1)] * 3 + [("b", 3000000, 1)] * 3)


class Environment(LaunchTest):
    def test_variables_of_the_program(self):
        mine = {"HYDRA_FULL_ERROR": "1", "PMIX_MCA_gds": "hash", "HYDRA_LAUNCHER": "ssh", "PMIX_DEBUG": "1"}
        outer = {"PMIX_RANK": "7", "PMIX_NAMESPACE": "x", "PMIX_SERVER_URI41": "u", "PMI_ID": "3", "HYDI_CONTROL_FD": "5"}
        result = run("-n", "1", "/usr/bin/env", env={**os.environ, **mine, **outer})
        found = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
        self.assertEqual({name: found.get(name) for name in mine}, mine)
        self.assertFalse(set(outer) & set(found))


class LastWords(FilesTest):
    def ended(self, way, *words):
        result = run("-n", "2", "--timeout", "40", LAST_WORDS, way)
        self.assertIn("said before", result.stdout)
        for word in words:
            self.assertIn(word, result.stderr)
        return result

    def test_of_abort(self):
        self.assert_ended(self.ended("abort"), 3)

    def test_of_c(self):
        result = run("-n", "1", "--timeout", "40", os.environ["HR_LAST_WORDS_C"])
        self.assert_ended(result, 3)
        self.assertEqual(result.stdout, "said before")

    def test_of_an_error(self):
        self.assertNotEqual(self.ended("error", "MPI_ERR_RANK").returncode, 0)

    def test_of_a_call_too_early(self):
        self.assertNotEqual(self.ended("early", "before MPI_Init").returncode, 0)

    def test_whoever_has_the_lock(self):
        for way in ("locked", "reading"):
            with self.subTest(way):
                began = time.monotonic()
                self.assert_ended(self.ended(way), 3)
                self.assertLess(time.monotonic() - began, 20)

    def test_of_cpp(self):
        self.assert_ended(self.ended("cpp"), 3)

    def test_errors_in_statuses(self):
        result = self.ended("statuses", "MPI_ERR_IN_STATUS", "array_of_requests[0]: MPI_ERR_TRUNCATE",
                            "array_of_requests[1]: MPI_ERR_TRUNCATE")
        self.assertNotEqual(result.returncode, 99, result.stderr)


# Runs a program in a sandbox that refuses sched_getaffinity (of x86_64: 204), as a seccomp filter does.
REFUSING = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 204), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
filter_ = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(filter_)))
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def limited(limit, value):
    return lambda: resource.setrlimit(limit, (value, value))


@unittest.skipIf(SANITIZED, "sanitizers take more than such limits allow")
class Limits(LaunchTest):
    def test_address_space(self):
        for size in (1500, 4000):
            with self.subTest(size):
                result = run("-n", "2", "--timeout", "60", LAST_WORDS, "work",
                             preexec_fn=limited(resource.RLIMIT_AS, size * 1000 * 1024))
                self.assert_ended(result, 0)
                self.assertEqual(sorted(result.stdout.splitlines()), ["ok 0/2", "ok 1/2"])

    def test_a_small_stack(self):
        result = run("-n", "2", "--timeout", "60", LAST_WORDS, "work", preexec_fn=limited(resource.RLIMIT_STACK, 64 << 10),
                     env={name: value for name, value in os.environ.items() if name != "LS_COLORS"})
        self.assert_ended(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), ["ok 0/2", "ok 1/2"])

    def test_small_files(self):
        result = run("-n", "2", "--timeout", "60", LAST_WORDS, "work", preexec_fn=limited(resource.RLIMIT_FSIZE, 64 << 10))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ulimit -f", result.stderr)

    def test_smaller_files_of_one_rank(self):
        """The rank that creates the shared file leaves out channels that do not fit; the others find the file as it is."""
        for rank in range(3):
            with self.subTest(rank):
                script = f'[ "$PMI_RANK" = {rank} ] && ulimit -f 100000; exec "$1" work'
                result = run("-n", "3", "--timeout", "60", "sh", "-c", script, "sh", LAST_WORDS)
                self.assert_ended(result, 0)
                self.assertEqual(sorted(result.stdout.splitlines()), ["ok 0/3", "ok 1/3", "ok 2/3"])

    def test_another_directory_for_one_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f'[ "$PMI_RANK" = 1 ] && export HEADRACE_SHM_DIR={folder}; exec "$1" work'
            result = run("-n", "3", "--timeout", "60", "-x", "HEADRACE_NETWORK_DEVICES=lo", "sh", "-c", script, "sh", LAST_WORDS)
            self.assert_ended(result, 0)
            self.assertIn(f"HEADRACE_SHM_DIR is {folder} here and /dev/shm in process 0", result.stderr)
            self.assertEqual(result.stderr.count("HEADRACE_SHM_DIR"), 1, result.stderr)
            result = run("-n", "3", "--timeout", "60", "sh", "-c", script.replace(folder, "/dev/shm/"), "sh", LAST_WORDS)
            self.assertEqual(result.stderr, "")  # the same directory


class SharedMemory(LaunchTest):
    """A /dev/shm that is too small or cannot be written: jobs use memory outside it, and one process says so."""

    NOTE = "shared memory is not in /dev/shm"
    # Gives each rank process ids of its own. Ranks then need files with names, and every rank gives the same message, which names
    # file, cause and remedy.
    APART = "unshare --pid --fork"

    def mounted(self, options, ranks=2, hosts=1, way="work", wrapper=""):
        script = (f"mount -t tmpfs {options} tmpfs /dev/shm && "
                  f"exec {MPIEXEC} --timeout 30 -n {ranks} --as-hosts {hosts} {wrapper} {LAST_WORDS} {way}")
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespace can be made here")
        return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "HEADRACE_VERBOSE": "1"})

    def assert_works(self, result, ranks, why):
        self.assert_ended(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"ok {rank}/{ranks}" for rank in range(ranks)])
        notes = [line for line in result.stderr.splitlines() if self.NOTE in line]
        self.assertEqual(len(notes), 1, result.stderr)
        self.assertIn(why, notes[0])

    def test_read_only(self):
        self.assert_works(self.mounted("-o ro"), 2, "Read-only file system")

    def test_tiny(self):
        self.assert_works(self.mounted("-o size=36k", 4), 4, "No space left on device")

    def test_too_small_for_all_pairs(self):
        self.assert_works(self.mounted("-o size=2m", 4), 4, "No space left on device")

    def test_large_enough(self):
        result = self.mounted("-o size=1g", 4)
        self.assert_ended(result, 0)
        self.assertNotIn(self.NOTE, result.stderr)

    def test_read_only_and_apart(self):
        for _ in range(3):
            result = self.mounted("-o ro", wrapper=self.APART)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"/dev/shm/headrace\.\S+: Read-only file system.*HEADRACE_SHM_DIR")

    def test_tiny_and_apart(self):
        result = self.mounted("-o size=40k", 4, wrapper=self.APART)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("No space left on device", result.stderr)
        self.assertIn("free in /dev/shm", result.stderr)
        self.assertNotIn("/proc/", result.stderr)

    def test_tiny_and_collectives_over_hosts(self):
        """A step within the host cannot send: the process does not wait in a later step for the others."""
        ways = ["Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv",
                "Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter"]
        for way in ways if os.environ.get("HR_EVERY") else ("Barrier", "Alltoallv", "Allreduce"):
            with self.subTest(way):
                result = self.mounted("-o size=64k", 6, 2, f"MPI_{way}", self.APART)
                self.assertIn(f"MPI_{way}: MPI_ERR_OTHER: could not reserve memory", result.stderr)


class Processors(LaunchTest):
    """A system that does not describe its processors, and processors that the job may not use."""

    def assert_one_note(self, command, words):
        for verbose, count in (("0", 0), ("1", 1)):
            with self.subTest(verbose):
                result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                                        env={**os.environ, "HEADRACE_VERBOSE": verbose})
                self.assert_ended(result, 0)
                self.assertEqual(sorted(result.stdout.splitlines()), ["ok 0/2", "ok 1/2"])
                self.assertEqual(len(result.stderr.splitlines()), count, result.stderr)
                self.assertEqual(result.stderr.count(words), count, result.stderr)

    def test_no_description(self):
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespace can be made here")
        script = f"mount -t tmpfs tmpfs /sys && exec {MPIEXEC} --timeout 30 -n 2 {LAST_WORDS} work"
        self.assert_one_note(["unshare", "-m", "sh", "-c", script], "describes no processors")

    def test_one_that_may_be_used(self):
        cpu = str(max(os.sched_getaffinity(0)))
        self.assert_one_note(["taskset", "-c", cpu, MPIEXEC, "--timeout", "30", "-n", "2", LAST_WORDS, "work"],
                             f"2 ranks of this host may run only on CPU {cpu}")


class Network(LaunchTest):
    def test_no_interface_is_up(self):
        """A network namespace begins without any; the message says how to bring the needed one up."""
        if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no network namespace can be made here")
        for words, remedy in ((["--as-hosts", "2"], "ip link set lo up"),
                              (["-x", "HEADRACE_TRANSPORTS=self,tcp"], "HEADRACE_NETWORK_DEVICES")):
            with self.subTest(words):
                result = run("-n", MPIEXEC, "--timeout", "30", "-n", "2", *words, LAST_WORDS, "work", launcher="unshare",
                             env={**os.environ, "HEADRACE_NETWORK": "tcp"})
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("interface", result.stderr)
                self.assertIn(remedy, result.stderr)

    def over_tcp(self, script, **environment):
        return run("--timeout", "20", "-n", "4", "--as-hosts", "4", "sh", "-c", script, "sh", LAST_WORDS,
                   env={**os.environ, "HEADRACE_NETWORK": "tcp", **environment})

    def test_too_few_descriptors(self):
        result = self.over_tcp('ulimit -n 10; exec "$1" work', HEADRACE_NETWORK_TIMEOUT="2")
        self.assertRegex(result.stderr, r"can open no more files.*ulimit -n")

    def test_a_rank_without_a_network(self):
        """The other ranks report its reason, not the launcher's answer that there is no address."""
        result = self.over_tcp('[ $PMI_RANK = 3 ] && export HEADRACE_NETWORK_DEVICES=nosuch0; exec "$1" work')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("HEADRACE_NETWORK_DEVICES=nosuch0 names no network interface", result.stderr)
        self.assertNotIn("key_not_found", result.stderr)


@unittest.skipUnless(os.uname().machine == "x86_64", "its filter is for x86_64")
class Sandbox(LaunchTest):
    def test_affinity_is_not_told(self):
        for words in ([], ["--bind-to", "core", "--report-bindings"]):
            with self.subTest(words):
                result = subprocess.run([sys.executable, "-c", REFUSING, MPIEXEC, *words, "-n", "2", LAST_WORDS, "work"],
                                        capture_output=True, text=True, timeout=60, check=False)
                if result.returncode == 77:
                    self.skipTest("no seccomp here")
                self.assert_ended(result, 0)
                self.assertEqual(sorted(result.stdout.splitlines()), ["ok 0/2", "ok 1/2"])


class Messages(LaunchTest):
    def script(self, text: bytes) -> str:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "script"
        path.write_bytes(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_scripts_that_cannot_run(self):
        for text, words in ((b"#!/bin/sh\r\necho\r\n", "carriage return"), (b"#!/no/such/thing -x\n", '"/no/such/thing"'),
                            (b"echo\n", "nor a script with #! and an interpreter")):
            with self.subTest(text):
                self.assert_ended(run(self.script(text)), 127, words)

    def test_a_directory_that_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            gone = f"{folder}/gone"
            result = subprocess.run(["sh", "-c", f"mkdir {gone}; cd {gone}; rmdir {gone}; {MPIEXEC} -n 1 true"], text=True,
                                    capture_output=True, timeout=30, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"has been removed, or is not accessible; it was {gone}", result.stderr)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
    def test_mpiexec_inside_a_bound_rank(self):
        own = {name: value for name, value in os.environ.items() if name != "HEADRACE_OVERSUBSCRIBE"}
        result = run("-n", "2", "--bind-to", "core", MPIEXEC, "-n", "2", "true", env=own)
        self.assertIn("a rank of another mpiexec that binds its ranks", result.stderr)

    def test_more_ranks_than_ppr_places(self):
        self.assert_ended(run("-n", "4", "--map-by", "ppr:2:node", "true"), 2, "4 ranks: ppr places 2 on 1 host")
        self.assert_ended(run("-n", "2", "--map-by", "ppr:2:node", "true"), 0)


if __name__ == "__main__":
    unittest.main()
