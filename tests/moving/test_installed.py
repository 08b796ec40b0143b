"""`cmake --install` of the build, into a prefix with a blank: the properties that package recipes rely on."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import BUILD, run

PROGRAM = "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }\n"


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="installed ")
        cls.prefix = Path(cls.folder.name) / "pre fix"
        prebuilt = os.environ.get("HR_INSTALL_FROM", str(BUILD))
        subprocess.run(["cmake", "--install", prebuilt, "--prefix", str(cls.prefix)], check=True, timeout=100, capture_output=True)
        cls.bin = cls.prefix / "bin"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_program(self):
        source = self.prefix / "a.c"
        source.write_text(PROGRAM, encoding="ascii")
        self.assertEqual(run(self.bin / "mpicc", source, "-o", self.prefix / "a").returncode, 0)
        for launcher in ("mpiexec", "mpirun", "mpiexec.hydra", "orterun"):
            result = run(self.bin / launcher, "-n", "2", self.prefix / "a")
            self.assertEqual((result.returncode, result.stderr), (0, ""), launcher)

    def test_the_headrace_command(self):
        version = run(self.bin / "mpiexec", "--version").stdout.split()[-1]
        self.assertEqual(run(self.bin / "headrace", "--version").stdout, f"headrace {version}\n")
        facts = json.loads(run(self.bin / "headrace", "info", "--all", "--json").stdout)
        self.assertEqual(facts["prefix"], str(self.prefix))
        self.assertNotIn(None, list(facts["programs"].values()) + [abi["library"] for abi in facts["abis"]])
        self.assertNotIn("missing", run(self.bin / "headrace", "info").stdout)
        self.assertIn("shm_dir", run(self.bin / "headrace", "config").stdout)

    def test_other_pythons(self):
        """A Python that is too old is skipped, and named if there is no other."""
        old = self.prefix / "old"
        old.mkdir()
        (old / "python3").write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
        (old / "python3").chmod(0o755)
        for tool in ("sh", "readlink", "dirname"):
            (old / tool).symlink_to(subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True, text=True, check=True).stdout.strip())
        result = run(self.bin / "headrace", "info", PATH=str(old))
        self.assertEqual(result.returncode, 1)
        self.assertIn("Python 3.10 or newer", result.stderr)

    def test_completions_and_answers(self):
        for place in ("bash-completion/completions/mpirun", "fish/vendor_completions.d/headrace.fish", "zsh/site-functions/_headrace"):
            self.assertTrue((self.prefix / "share" / place).is_file(), place)
        self.assertIn("mpi_built_with_cuda_support:value:true", run(self.bin / "ompi_info", "--parsable").stdout)
        library = run(self.bin / "mpichversion", "--abi").stdout.split("(")[1].split(")")[0]
        self.assertTrue(Path(library).is_file(), library)


if __name__ == "__main__":
    unittest.main()
