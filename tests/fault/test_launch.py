"""Jobs that succeed, and command lines that are rejected."""

import os
import subprocess
import tempfile
import unittest

from launching import MPIEXEC, PROBE, LaunchTest, run, within


class Options(LaunchTest):
    def test_version_and_help(self):
        self.assertIn("Headrace", run("--version").stdout)
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("--bind-to", result.stdout)

    def test_unknown_option_gets_usage(self):
        for words in (["--frob", "true"], ["-frob", "true"], ["-n", "2", "--frob=3", "true"]):
            self.assert_ended(run(*words), 2, "unknown option", "frob", "Usage: mpiexec")

    def test_missing_program_gets_usage(self):
        for words in ([], ["-n", "2"], ["-n", "1", "true", ":"], ["-n", "1", "true", ":", "-n", "2"]):
            self.assert_ended(run(*words), 2, "no program is specified", "Usage: mpiexec")

    def test_bad_values_are_named(self):
        self.assert_ended(run("-n", "0", "true"), 2, "0", "Usage")
        self.assert_ended(run("-n", "many", "true"), 2, "many", "Usage")
        self.assert_ended(run("-n", "2", "--bind-to", "sockets", "true"), 2, "sockets", "Usage")
        self.assert_ended(run("--timeout", "-1", "true"), 2, "timeout", "Usage")
        self.assert_ended(run("-wdir", "/no/such/place", "true"), 2, "/no/such/place")

    def test_program_that_cannot_be_executed(self):
        self.assert_ended(run("-n", "2", "no-such-program"), 127, "no-such-program", "No such file or directory")
        self.assert_ended(run("-n", "2", "/etc/passwd"), 127, "/etc/passwd", "Permission denied")
        self.assert_ended(run("-n", "2", "/tmp"), 127, "/tmp", "directory")
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/text"
            with open(path, "w", encoding="ascii") as file:
                file.write("not a program")
            os.chmod(path, 0o755)
            self.assert_ended(run("-n", "2", path), 127, path, "Exec format error")

    def test_words_after_the_program_are_its_own(self):
        self.assertEqual(run("-n", "1", "echo", "-n", "--version", "x").stdout, "--version x")


class Files(LaunchTest):
    """Configuration files that are not regular files: a message names them, and nothing waits for a writer."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="headrace-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.fifo = f"{folder.name}/tuning.json"
        os.mkfifo(self.fifo)
        os.mkfifo(f"{folder.name}/tuning.messages")

    def test_of_the_command_line(self):
        self.assert_ended(run("-configfile", self.fifo), 2, f"-configfile {self.fifo}: it is a FIFO, not a file")
        self.assert_ended(run("-f", self.fifo, "true"), 2, f"-f {self.fifo}: it is a FIFO, not a file")

    def test_that_a_shell_pipes_in(self):
        script = f"exec {MPIEXEC} -configfile <(printf '%s\\n' '-n 2 echo ran')"
        result = run("-c", script, launcher="bash")
        self.assert_ended(result, 0)
        self.assertEqual(result.stdout, "ran\nran\n")
        self.assert_ended(run("-c", f"exec {MPIEXEC} -f <(echo localhost:2) true", launcher="bash"), 0)

    def test_of_the_library(self):
        cases = (
            ({"HEADRACE_CONFIG_FILE": self.fifo}, f"configuration file {self.fifo}: it is a FIFO, not a file"),
            ({"HEADRACE_CONFIG_FILE": self.folder}, f"configuration file {self.folder}: it is a directory, not a file"),
            ({"HEADRACE_CONFIG_FILE": "/dev/zero"}, "configuration file /dev/zero: it is a device, not a file"),
            ({"HEADRACE_CONFIG_FILE": "/no/such"}, "configuration file /no/such: it cannot be opened: No such file"),
            ({"HEADRACE_TUNING_FILE": self.fifo}, f"{self.folder}/tuning.messages: it is a FIFO, not a file"),
        )
        for variables, words in cases:
            with self.subTest(words):
                result = run("-n", "1", PROBE, env={**os.environ, **variables})
                self.assert_ended(result, 0, words)


class OldNames(LaunchTest):
    """Settings under their names of earlier versions are accepted, and a note names the present ones."""

    @staticmethod
    def setting(result: subprocess.CompletedProcess, name: str) -> list[str]:
        return next(line for line in result.stdout.splitlines() if line.startswith(name + " ")).split()[1:3]

    def test_in_the_environment(self):
        result = run("--config", env={**os.environ, "HEADRACE_CUDA_IPC": "off"})
        self.assert_ended(result, 0)
        self.assertEqual(result.stderr, "[headrace] environment: HEADRACE_CUDA_IPC is called HEADRACE_DEVICE_IPC now; "
                                        "the old name is accepted until the next release\n")
        self.assertEqual(self.setting(result, "device_ipc"), ["off", "environment"])

    def test_in_the_file(self):
        with tempfile.NamedTemporaryFile("w", prefix="headrace-test-", suffix=".conf") as file:
            file.write("# of an earlier version\ncuda_attend_bytes = 4K\n")
            file.flush()
            result = run("--config", env={**os.environ, "HEADRACE_CONFIG_FILE": file.name})
            self.assert_ended(result, 0)
            self.assertEqual(result.stderr, f"[headrace] {file.name}:2: cuda_attend_bytes is called "
                                            "device_resident_copy_bytes now; the old name is accepted until the next release\n")
            self.assertEqual(self.setting(result, "device_resident_copy_bytes"), ["4096", "file"])

    def test_with_the_present_name(self):
        result = run("--config", env={**os.environ, "HEADRACE_CUDA_IPC": "auto", "HEADRACE_DEVICE_IPC": "off"})
        self.assert_ended(result, 0, "HEADRACE_CUDA_IPC is called HEADRACE_DEVICE_IPC now")
        self.assertEqual(self.setting(result, "device_ipc"), ["off", "environment"])

    def test_in_a_job(self):
        result = run("-n", "3", os.environ["HR_EARLY_EXIT"], "none", env={**os.environ, "HEADRACE_CUDA_IPC": "off"})
        self.assert_ended(result, 0)
        self.assertEqual(result.stderr.count("HEADRACE_CUDA_IPC is called HEADRACE_DEVICE_IPC now"), 2,
                         "one of mpiexec, and one of rank 0: " + result.stderr)


class Words(LaunchTest):
    """Messages from a rank to its launcher."""

    SAY = ("import os, socket\n"
           "line = socket.socket(fileno=int(os.environ['PMI_FD']))\n"
           "line.sendall({0})\n"
           "while b'cmd=finalize_ack' not in line.recv(1 << 20): pass\n")

    def say(self, words: str) -> None:
        result = run("--timeout", "40", "-n", "1", "python3", "-c", self.SAY.format(words))
        self.assert_ended(result, 0)

    def test_a_line_without_end_takes_time_for_its_bytes_alone(self):
        within(10, lambda: self.say(
            "b'cmd=init pmi_version=1 pmi_subversion=1\\n' + b'x' * (64 << 20) + b'\\ncmd=finalize\\n'"))

    def test_questions_about_no_name(self):
        self.say("b'cmd=init pmi_version=1 pmi_subversion=1\\ncmd=lookup_name service=\\n"
                 "cmd=publish_name service= port=\\ncmd=unpublish_name\\ncmd=finalize\\n'")


class Programs(LaunchTest):
    def test_ranks_and_applications(self):
        result = run("-n", "2", "sh", "-c", "echo a $PMI_RANK/$PMI_SIZE", ":", "-np", "1", "sh", "-c", "echo b $PMI_RANK")
        self.assertEqual(sorted(result.stdout.splitlines()), ["a 0/3", "a 1/3", "b 2"])

    def test_environment(self):
        script = 'echo "$A|$B|$C|$D"'
        result = run("-genv", "A", "all", "-env", "B", "-O2 x", "-x", "C=c=d", "sh", "-c", script,
                     ":", "-env", "A", "own", "-x", "HR_TEST_D", "sh", "-c", 'echo "$A|$B|$C|$HR_TEST_D"',
                     env={**os.environ, "HR_TEST_D": "passed"})
        self.assertEqual(sorted(result.stdout.splitlines()), ["all|-O2 x|c=d|", "own|||passed"])
        self.assertIn("HR_NOT_THERE", run("-x", "HR_NOT_THERE", "true").stderr)

    def test_working_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            self.assertEqual(run("-wdir", folder, "pwd").stdout, folder + "\n")
            with open(f"{folder}/here.sh", "w", encoding="ascii") as file:
                file.write("#!/bin/sh\necho found\n")
            os.chmod(f"{folder}/here.sh", 0o755)
            for name in ("./here.sh", "here.sh"):
                self.assertEqual(run("-wdir", folder, name).stdout, "found\n")

    def test_exit_code_of_the_first_that_fails(self):
        self.assertEqual(run("-n", "3", "true").returncode, 0)
        self.assert_ended(run("-n", "3", "sh", "-c", "[ $PMI_RANK = 1 ] && exit 42; sleep 30"), 42, "rank 1", "code 42")

    @unittest.skipIf(os.environ.get("HR_SANITIZER") == "asan", "this sanitizer has to be the first library")
    def test_threads_that_a_library_starts_take_no_signals(self):
        """hwloc's plugins start threads; one of them used to take SIGCHLD, so that mpiexec waited forever."""
        environment = {**os.environ, "LD_PRELOAD": os.environ["HR_THREADS_IN_HWLOC"]}
        for _ in range(5):
            result = run("-n", "2", "--report-bindings", "true", env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_binding(self):
        cpus = os.sched_getaffinity(0)
        mask = "import os; print(sorted(os.sched_getaffinity(0)))"
        python = ["python3", "-c", mask]
        self.assertEqual(run("--bind-to", "none", *python).stdout, f"{sorted(cpus)}\n")
        bound = run("-l", "-n", "2", "--bind-to", "core", "--report-bindings", *python)
        self.assertEqual(bound.stderr.count("is bound to CPU"), 2, bound.stderr)
        for line in bound.stdout.splitlines():
            self.assertLessEqual(set(eval(line[4:])), cpus)  # pylint: disable=eval-used
        many = run("-n", str(len(cpus) + 1), "--report-bindings", "true")
        self.assertEqual(many.stderr.count("is not bound"), len(cpus) + 1)

    def test_key_value_exchange(self):
        result = run("-n", "4", PROBE, "init", "hello", "exchange", "finalize")
        self.assert_ended(result, 0)
        lines = sorted(result.stdout.splitlines())
        self.assertEqual(len(lines), 4)
        for rank, line in enumerate(lines):
            self.assertIn(f"rank {rank} of 4 app 0 nodes 0000 launcher 1 job headrace_", line)

    def test_applications_are_numbered(self):
        result = run("-n", "1", PROBE, "init", "hello", "finalize", ":", "-n", "2", PROBE, "init", "hello", "finalize")
        self.assertEqual(sorted(line.split(" nodes")[0] for line in result.stdout.splitlines()),
                         ["rank 0 of 3 app 0", "rank 1 of 3 app 1", "rank 2 of 3 app 1"])

    def test_many_ranks(self):
        self.assert_ended(run("-n", "64", PROBE, "init", "exchange", "finalize"), 0)

    def test_alone(self):
        result = subprocess.run([PROBE, "init", "hello", "exchange", "finalize"], capture_output=True, text=True,
                                timeout=20, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("rank 0 of 1 app 0 nodes 0 launcher 0", result.stdout)

    def test_a_rank_that_starts_a_program_of_its_own(self):
        # The inner one must not use the outer launcher's connection.
        result = run("-n", "2", "sh", "-c", f"{MPIEXEC} -n 2 {PROBE} init exchange hello finalize")
        self.assert_ended(result, 0)
        self.assertEqual(result.stdout.count("of 2 app 0"), 4)


class Output(LaunchTest):
    def test_lines_stay_whole(self):
        script = "import sys\nfor i in range(10000): print(sys.argv[1] * 50, i)"
        result = run("-n", "1", "python3", "-u", "-c", script, "a", ":", "-n", "1", "python3", "-c", script, "b")
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 20000)
        for letter in "ab":
            self.assertEqual([line for line in lines if line[0] == letter], [f"{letter * 50} {i}" for i in range(10000)])

    def test_labels(self):
        result = run("-l", "-n", "2", "sh", "-c", "echo out; echo; echo err >&2; printf last")
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["[0] ", "[0] last", "[0] out", "[1] ", "[1] last", "[1] out"])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] err", "[1] err"])

    def test_streams_stay_apart_and_bytes_are_kept(self):
        result = run("sh", "-c", r"printf 'no newline'; printf 'e\001\n\n' >&2")
        self.assertEqual((result.stdout, result.stderr), ("no newline", "e\001\n\n"))

    def test_a_slow_reader_gets_everything(self):
        command = f"{MPIEXEC} -n 2 sh -c 'seq 100000' 2>&1 | (sleep 0.3; wc -l)"
        self.assertEqual(int(subprocess.check_output(command, shell=True, timeout=60)), 200000)

    def test_a_reader_that_leaves_ends_the_job(self):
        command = f"{MPIEXEC} -n 2 yes 2>/dev/null | head -n 3"
        self.assertEqual(subprocess.check_output(command, shell=True, timeout=20), b"y\ny\ny\n")

    def test_standard_input_goes_to_rank_0(self):
        result = run("-l", "-n", "3", "cat", input="one\ntwo\n")
        self.assertEqual(result.stdout, "[0] one\n[0] two\n")

    def test_standard_input_is_left_alone_when_nobody_reads_it(self):
        command = f"printf 'a\\nb\\n' | while read line; do {MPIEXEC} -n 2 true; echo $line; done"
        self.assertEqual(subprocess.check_output(command, shell=True, timeout=20), b"a\nb\n")


if __name__ == "__main__":
    unittest.main()
