"""Wrong options of the programs and benchmarks: which word is wrong, and a value that would do; help from the same table.

HR_BIN: the folder of mpiexec and the programs.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

BIN = Path(os.environ["HR_BIN"])

HOST_ALONE = "measures host memory alone: --mem and --cuda-in-use do not apply"
REFUSED = {
    "halo3d": (("--wat 1", "unknown option '--wat'; --help lists those there are"), ("--steps 0", "--steps requires an integer of at least 1, not '0'"),
               ("--steps", "--steps requires an integer of at least 1"), ("--procs=2", "--procs requires PX,PY,PZ, each an integer of at least 1, not '2'"),
               ("--local 4,x,4", "--local requires N or X,Y,Z, each an integer of at least 1, not '4,x,4'"),
               ("--double=1", "--double takes no value, not '1'"), ("--device tpu", "--device requires host, cuda or auto, not 'tpu'"),
               ("--json=", "--json requires the name of a file, not ''"), ("--pattern=", "--pattern requires names from --list, separated by commas, or all, not ''")),
    "latency": (("--mn 1", "unknown option '--mn'; --help lists those there are"), ("--iters x", "--iters requires N, not 'x'"),
                ("--sizes 4,q", "--sizes requires A,B,..., not '4,q'"), ("--validate=yes", "--validate takes no value, not 'yes'")),
    "host_limits": (("--ping-pong=1", "--ping-pong takes no value, not '1'"), ("--sizes", "--sizes requires A,B,...")),
    **{program: (("--mem cuda", HOST_ALONE), ("--cuda-in-use", HOST_ALONE)) for program in ("datatypes", "spawn", "startup")},
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
                self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 140], [])


if __name__ == "__main__":
    unittest.main()
