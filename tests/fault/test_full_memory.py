"""/dev/shm becomes full while a job communicates: no message is lost, and one line per rank says why messages are slow."""

import os
import subprocess
import unittest

from launching import MPIEXEC, LaunchTest

FULL_MEMORY = os.environ["HR_FULL_MEMORY"]
RANKS = 17  # with more than 16 processes on a host, rings begin with little memory
NOTE = "use less shared memory than planned|travel in small pieces"
# Process ids of its own for each rank: no process reads another's memory, and files have names.
APART = "unshare --pid --fork"


class FullMemory(LaunchTest):
    def run_way(self, way: str, channels: int, wrapper: str = "", **more: str) -> subprocess.CompletedProcess:
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespace can be made here")
        script = f"mount -t tmpfs -o size=1g tmpfs /dev/shm && exec {MPIEXEC} --timeout 60 -n {RANKS} {wrapper} {FULL_MEMORY} {way}"
        environment = {**os.environ, "HEADRACE_VERBOSE": "1", "HEADRACE_CHANNELS": str(channels), **more}
        return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=90, check=False,
                              env=environment)

    def assert_all_arrive(self, result: subprocess.CompletedProcess) -> None:
        self.assert_ended(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(f"ok {rank}" for rank in range(RANKS)))
        self.assertRegex(result.stderr, NOTE)

    def assert_every_way(self, channels: int) -> None:
        for wrapper in ("", APART):
            for way in ("short", "eager", "buffered", "long", "shared", "cancel"):
                with self.subTest(way=way, wrapper=wrapper):
                    self.assert_all_arrive(self.run_way(way, channels, wrapper))

    def test_on_a_channel(self):
        self.assert_every_way(3)

    def test_without_channels(self):
        self.assert_every_way(1)

    def test_streamed(self):
        for channels in (1, 3):
            with self.subTest(channels=channels):
                self.assert_all_arrive(self.run_way("long", channels, HEADRACE_SHM_SINGLE_COPY="off"))


if __name__ == "__main__":
    unittest.main()
