"""Wrong options of the programs and benchmarks: which word is wrong, and a value that would do; help from the same table.

HR_BIN: the folder of mpiexec and the programs.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

BIN = Path(os.environ["HR_BIN"])

REFUSED = {
    "halo3d": (("--wat 1", "unknown option '--wat'; --help lists those there are"), ("--steps 0", "--steps wants a whole number of at least 1, not '0'"),
               ("--steps", "--steps wants a whole number of at least 1"), ("--procs=2", "--procs wants PX,PY,PZ, each a whole number of at least 1, not '2'"),
               ("--local 4,x,4", "--local wants N or X,Y,Z, each a whole number of at least 1, not '4,x,4'"),
               ("--double=1", "--double wants no value, not '1'"), ("--device tpu", "--device wants host, cuda or auto, not 'tpu'"),
               ("--json=", "--json wants the name of a file, not ''"), ("--pattern=", "--pattern wants names from --list, separated by commas, or all, not ''")),
    "latency": (("--mn 1", "unknown option '--mn'; --help lists those there are"), ("--iters x", "--iters wants N, not 'x'"),
                ("--sizes 4,q", "--sizes wants A,B,..., not '4,q'"), ("--validate=yes", "--validate wants no value, not 'yes'")),
    "host_limits": (("--ping-pong=1", "--ping-pong wants no value, not '1'"), ("--sizes", "--sizes wants A,B,...")),
}


def start(*words):
    return subprocess.run([BIN / "mpiexec", "--timeout", "30", "-n", "1", BIN / words[0], *words[1:]], capture_output=True, text=True, timeout=60)


class Options(unittest.TestCase):
    def test_refused(self):
        for program, cases in REFUSED.items():
            for words, sentence in cases:
                with self.subTest(program=program, words=words):
                    done = start(program, *words.split())
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, f"(?m)^({program}: )?{re.escape(sentence)}$")

    def test_help(self):
        for program in REFUSED:
            with self.subTest(program=program):
                done = start(program, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                options = [line for line in done.stdout.splitlines() if line.startswith("  --")]
                self.assertGreater(len(options), 5)
                self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 130], [])


if __name__ == "__main__":
    unittest.main()
