"""Ranks that die, hang or give up: a message reports them, the job ends in time, and nothing is left behind."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from launching import MPIEXEC, PROBE, FilesTest, LaunchTest, left_of, marked_processes, run, within

EARLY_EXIT = os.environ["HR_EARLY_EXIT"]


class Deaths(FilesTest):
    def run_timed(self, *words):
        # The guarantee covers the end of the job, not the start of Python or of a probe on a busy machine.
        return within(6, lambda: run(*words))

    def assert_names_rank(self, result, rank):
        self.assertRegex(result.stderr, rf"rank {rank} on host {re.escape(socket.gethostname())} \(pid \d+\)")

    def test_killed_by_a_signal(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT):
            result = self.run_timed("-n", "3", PROBE, "init", "shm", "fence", f"raise={int(number)}@1", "hang")
            self.assert_ended(result, 128 + number, f"killed by signal {int(number)} (")
            self.assert_names_rank(result, 1)

    def test_ranks_that_ignore_sigterm(self):
        result = self.run_timed("-n", "3", PROBE, "init", "deaf", "fence", "raise=9@2", "hang")
        self.assert_ended(result, 137, "rank 2")

    def test_exit_without_finalize(self):
        result = self.run_timed("-n", "2", PROBE, "init", "fence", "exit=0@1", "hang")
        self.assert_ended(result, 1, "without calling MPI_Finalize")
        self.assert_names_rank(result, 1)
        result = self.run_timed("-n", "2", PROBE, "init", "fence", "exit=3@0", "hang")
        self.assert_ended(result, 3, "code 3 before MPI_Finalize")

    def test_exit_before_init_while_others_wait(self):
        result = self.run_timed("-n", "2", PROBE, "init", "exchange", ":", "-n", "1", "true")
        self.assert_ended(result, 1, "rank 2", "MPI_Init")

    def test_exit_code_after_finalize_does_not_end_the_others(self):
        script = f'{PROBE} init exchange finalize || exit 9; [ $PMI_RANK = 0 ] && exit 6; sleep 0.2; echo done'
        result = run("-n", "2", "sh", "-c", script)
        self.assert_ended(result, 6)
        self.assertEqual(result.stdout, "done\n")

    def test_abort(self):
        result = self.run_timed("-n", "3", PROBE, "init", "shm", "fence", "abort=7@2", "hang")
        self.assert_ended(result, 7, "called MPI_Abort with code 7", "the program gave up")
        self.assert_names_rank(result, 2)
        self.assertEqual(result.stderr.count("mpiexec:"), 1, result.stderr)

    def test_abort_is_never_success(self):
        for code in (0, 256, -256):
            result = self.run_timed("-n", "2", PROBE, "init", f"abort={code}@0", "hang")
            self.assert_ended(result, 1, f"called MPI_Abort with code {code} (exit code 1)")
            alone = subprocess.run([PROBE, "init", f"abort={code}"], capture_output=True, timeout=20, check=False)
            self.assertEqual(alone.returncode, 1)
        self.assert_ended(self.run_timed("-n", "2", PROBE, "init", "abort=-1@0", "hang"), 255)

    def test_orphans_are_ended(self):
        self.assert_ended(self.run_timed("-n", "2", PROBE, "init", "orphan", "fence", "raise=9@1", "hang"), 137)
        self.assert_ended(self.run_timed("-n", "2", PROBE, "orphan"), 0)

    def test_stopped_ranks_are_ended(self):
        self.assert_ended(self.run_timed("-n", "2", PROBE, "init", "fence", f"raise={int(signal.SIGSTOP)}@0", "raise=9@1"),
                          137)

    def test_ranks_end_when_mpiexec_is_killed(self):
        process = subprocess.Popen([MPIEXEC, "-n", "2", PROBE, "init", "hello", "hang"], stdout=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.readline()
        process.kill()
        process.wait()
        process.stdout.close()
        # The kernel ends the ranks, which takes a moment.
        left_of(lambda: marked_processes(self.mark), 20)


class Timeout(LaunchTest):
    def out_of_time(self, reached, *words, **options):
        """Returns the result of a job that its time limit ends after its ranks have come to where they hang, which shows
        in the message. On a busy machine, this may take them longer than the first limits."""
        for seconds in (1, 5, 25):
            result = run("--timeout", str(seconds), *words, limit=120, **options)
            if reached in result.stderr:
                break
        self.assert_ended(result, 124, f"did not end within {seconds} s", reached)
        return result

    def test_says_who_hangs_and_where(self):
        result = self.out_of_time("still running: rank 0,2\n", "-n", "3", PROBE, "init", "exit=0@9", "fence", "finalize@1", "exit=0@1", "hang")
        self.assertNotIn("rank 1 on host", result.stderr)
        where = "pause" if shutil.which("gdb") else "state S"
        self.assertIn(where, result.stderr)

    def test_a_job_in_time_is_not_touched(self):
        self.assert_ended(run("-n", "2", "--timeout", "30", "true"), 0)

    def without_gdb(self, reached, *words):
        """Runs without gdb, so that the ranks themselves show their stacks."""
        with tempfile.TemporaryDirectory() as empty:
            return self.out_of_time(reached, "-n", "2", *words, env={**os.environ, "PATH": empty})

    def test_stacks_without_a_debugger(self):
        result = self.without_gdb("MPI_Recv in libmpi_abi", EARLY_EXIT, "wait", "1")
        self.assert_ended(result, 124, "still running: rank ", "hr::p2p::", "main in early_exit")

    def test_stacks_of_a_rank_behind_finalize(self):
        result = self.without_gdb("runs_for_ever in early_exit", EARLY_EXIT, "linger", "1")
        self.assert_ended(result, 124, "still running: rank 1\n", "state R", "exit in libc")

    def test_a_rank_that_takes_no_signals(self):
        result = self.without_gdb("it blocks signals", EARLY_EXIT, "deaf", "1")
        self.assert_ended(result, 124, "still running: rank 1\n", "state S")

    def test_stacks_of_a_program_that_a_shell_started(self):
        result = self.without_gdb("runs_for_ever in early_exit", "/bin/sh", "-c", f"{EARLY_EXIT} linger 1; true")
        self.assert_ended(result, 124, "program early_exit")

    def test_stacks_by_a_debugger_behind_finalize(self):
        if not shutil.which("gdb"):
            self.skipTest("gdb is not installed")
        result = self.out_of_time("runs_for_ever", "-n", "2", EARLY_EXIT, "linger", "1")
        self.assert_ended(result, 124, "still running: rank 1\n")

    @unittest.skipUnless(shutil.which("gdb"), "gdb is not installed")
    def test_frames_of_the_library_have_names(self):
        result = self.out_of_time("PMPI_Recv", "-n", "2", EARLY_EXIT, "wait", "1")
        self.assert_ended(result, 124, "hr::p2p::", "in main")
        self.assertNotIn("?? () from " + os.path.realpath(os.environ["HR_BUILD"]), result.stderr)


class Signals(LaunchTest):
    def start(self, *words):
        process = subprocess.Popen([MPIEXEC, "-n", "2", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def finish(self, process):
        output, errors = process.communicate(timeout=20)
        return output, errors

    def test_interrupt_ends_the_job(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("sh", "-c", "echo ready; while :; do sleep 0.1; done")
            process.send_signal(number)
            _, errors = self.finish(process)
            self.assertEqual(process.returncode, 128 + number, errors)
            self.assertIn("interrupted by signal", errors)

    def test_ranks_may_handle_an_interrupt(self):
        process = self.start("sh", "-c", "trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.1; done")
        process.send_signal(signal.SIGINT)
        output, errors = self.finish(process)
        self.assertEqual((process.returncode, output), (0, "saved\nsaved\n"), errors)

    def test_a_second_interrupt_does_not_ask(self):
        process = self.start("sh", "-c", "trap 'echo ready' INT; trap '' TERM; echo ready; while :; do sleep 0.1; done")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        self.finish(process)
        self.assertEqual(process.returncode, 130)

    def test_user_signals_are_passed_on(self):
        script = "trap 'echo usr1' USR1; trap 'echo usr2; exit 0' USR2; echo ready; while :; do sleep 0.1; done"
        process = self.start("sh", "-c", script)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual([process.stdout.readline() for _ in range(2)], ["usr1\n"] * 2)
        process.send_signal(signal.SIGUSR2)
        output, _ = self.finish(process)
        self.assertEqual((process.returncode, output), (0, "usr2\n" * 2))

    def test_stop_and_continue(self):
        def state(pid):
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0]

        def wait_for(wanted, pids):
            deadline = time.monotonic() + 10
            while any((state(pid) == "T") != wanted for pid in pids):
                self.assertLess(time.monotonic(), deadline, "ranks did not follow")
                os.sched_yield()

        process = subprocess.Popen([MPIEXEC, "-n", "2", "sh", "-c", "echo $$; exec sleep 30"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=os.setpgrp)
        self.addCleanup(process.kill)
        ranks = [int(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGTSTP)
        wait_for(True, [process.pid, *ranks])
        process.send_signal(signal.SIGCONT)
        wait_for(False, [process.pid, *ranks])
        process.send_signal(signal.SIGTERM)
        self.finish(process)
        self.assertEqual(process.returncode, 143)


if __name__ == "__main__":
    unittest.main()
