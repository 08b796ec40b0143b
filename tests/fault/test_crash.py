"""Ranks that crash: the stack is shown where possible, and nothing else changes: exit code, handlers, signals."""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from launching import FilesTest, run

CRASH = os.environ["HR_CRASH"]
WITHOUT_GDB = {**os.environ, "PATH": "/nonexistent"}

# way, signal, function that the stack must contain
WAYS = (
    ("read", signal.SIGSEGV, "read_nowhere"),
    ("deep", signal.SIGSEGV, "fall_without_end"),
    ("thread", signal.SIGSEGV, "read_nowhere"),
    ("sent", signal.SIGSEGV, "sent"),
    ("send", signal.SIGSEGV, "PMPI_Send"),
    ("abort", signal.SIGABRT, "give_up"),
    ("bus", signal.SIGBUS, "read_past_the_file"),
    ("divide", signal.SIGFPE, "divide_by_zero"),
    ("illegal", signal.SIGILL, "illegal"),
)


class Crashes(FilesTest):
    @unittest.skipUnless(shutil.which("gdb"), "gdb is not installed")
    def test_stack_by_the_launcher(self):
        for way, number, function in WAYS:
            with self.subTest(way):
                result = run("-n", "2", CRASH, way, "1")
                self.assert_ended(result, 128 + number, function, f"crashed with signal {int(number)} (",
                                  f"was killed by signal {int(number)} (")
                lines = result.stderr.splitlines()
                self.assertRegex(lines[0], r"^rank 1 on host \S+ \(pid \d+\) crashed with signal ")
                self.assertRegex(lines[1], "^  #0 ")
                self.assertIn("ending the job", lines[-1])
                self.assertNotIn("[headrace", result.stderr)
                self.assertNotIn("signal handler", result.stderr)
        # Frames of the library have names, not only its entry points.
        result = run("-n", "2", CRASH, "send", "0")
        self.assertIn("hr::", result.stderr)
        self.assertNotIn("?? () from " + os.path.realpath(os.environ["HR_BUILD"]), result.stderr)

    def test_stack_by_the_rank_itself(self):
        for way, number, _ in WAYS:
            with self.subTest(way):
                result = run("-n", "2", CRASH, way, "1", env=WITHOUT_GDB)
                self.assert_ended(result, 128 + number, f"[headrace 1/2] crashed with signal {int(number)}; pid ",
                                  "[headrace 1/2]   #0 ")
                # The rank's lines are first.
                self.assertIn(f"was killed by signal {int(number)} (", result.stderr.splitlines()[-1])
        self.assertIn("PMPI_Send in ", run("-n", "2", CRASH, "send", "1", env=WITHOUT_GDB).stderr)

    def test_alone(self):
        result = subprocess.run([CRASH, "send", "0"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, -signal.SIGSEGV)
        self.assertIn("[headrace 0/1] crashed with signal 11", result.stderr)
        self.assertIn("PMPI_Send in ", result.stderr)

    def test_only_one_stack(self):
        for environment in (dict(os.environ), WITHOUT_GDB):
            result = run("-n", "4", CRASH, "all", "0", env=environment)
            self.assert_ended(result, 139)
            self.assertEqual(result.stderr.count("#0 "), 1, result.stderr)
            self.assertEqual(result.stderr.count("killed by signal"), 1, result.stderr)

    def test_the_program_s_handler_is_left_alone(self):
        for way in ("before", "after"):
            result = run("-n", "2", CRASH, way, "1")
            self.assert_ended(result, 9, "the program's own handler")
            self.assertNotIn("crashes by", result.stderr)
        self.assert_ended(run("-n", "2", CRASH, "removed", "1"), 0)

    def test_a_child_that_crashes_is_no_rank(self):
        result = run("-n", "2", CRASH, "child", "1")
        self.assert_ended(result, 0)
        self.assertEqual(result.stderr, "")

    def test_knob(self):
        result = run("-n", "2", "-genv", "HEADRACE_CRASH_STACK", "off", CRASH, "read", "1")
        self.assert_ended(result, 139, "killed by signal 11")
        self.assertNotIn("#0", result.stderr)

    def test_keep_going(self):
        result = run("-n", "3", "-disable-auto-cleanup", "--timeout", "30", CRASH, "all", "0", env=WITHOUT_GDB)
        self.assert_ended(result, 139)
        self.assertEqual(result.stderr.count("the others continue"), 3, result.stderr)

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "its runtime has to be opened before Python opens the library")
    def test_faulthandler_of_python(self):
        script = ("import ctypes, faulthandler, sys\n"
                  "if sys.argv[1] == 'before': faulthandler.enable()\n"
                  f"mpi = ctypes.CDLL({os.environ['HR_BUILD'] + '/lib/libmpi_abi.so.1'!r})\n"
                  "mpi.MPI_Init(None, None)\n"
                  "if sys.argv[1] == 'after': faulthandler.enable()\n"
                  "ctypes.string_at(0)\n")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(script)
            file.flush()
            for way in ("before", "after"):
                result = run("-n", "1", "python3", file.name, way)
                self.assert_ended(result, 139, "Fatal Python error: Segmentation fault", f'File "{file.name}"')


if __name__ == "__main__":
    unittest.main()
