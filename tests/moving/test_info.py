"""`headrace info`: its description of a build tree, as text, as JSON, as a module file."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from headrace import modulefile
from programs import BIN, BUILD, ROOT, run


def headrace(*words, **variables):
    return run(sys.executable, "-B", "-m", "headrace", *words, PYTHONPATH=os.environ["PYTHONPATH"], **variables)


class Info(unittest.TestCase):
    def test_everything_as_data(self):
        result = headrace("info", "--prefix", BUILD, "--json")
        facts = json.loads(result.stdout)
        version = run(BIN / "mpiexec", "--version").stdout.split()[-1]
        self.assertEqual((facts["version"], facts["mpi"], facts["prefix"]), (version, "5.0", str(BUILD.resolve())))
        self.assertEqual([abi["library"].rsplit("/")[-1] for abi in facts["abis"]], ["libmpi_abi.so.1", "libmpi.so.12"])
        self.assertEqual(facts["compilers"]["c"]["command"], run(BIN / "mpicc", "-showme:command").stdout.strip())
        self.assertIn(facts["gpus"]["driver"], ("missing", "failed", "opened"))
        self.assertEqual(set(facts["networks"]), {"shared_memory", "between_hosts", "tcp", "ucx", "libfabric"})
        self.assertIn(facts["networks"]["between_hosts"]["transport"], ("tcp", "ucx", "ofi"))
        self.assertEqual(set(facts["networks"]["tcp"]), {"interface", "address"})
        for library in ("ucx", "libfabric"):
            found = facts["networks"][library]
            self.assertIn("why" if found["version"] is None else "library", found)

    def test_everything_as_text(self):
        text = headrace("info", "--prefix", BUILD, "--all").stdout
        self.assertRegex(text, r"(?m)^compilers\.c\.command +\S")
        self.assertRegex(text, r"(?m)^abis\.0\.library +\S+libmpi_abi")

    def test_there_is_nothing(self):
        result = headrace("info", "--prefix", "/usr/share")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--prefix /usr/share: there is no bin/mpiexec", result.stderr)


class ModuleFiles(unittest.TestCase):
    def test_both_kinds(self):
        lua = headrace("info", "--prefix", BUILD, "--modulefile", "lua").stdout
        tcl = headrace("info", "--prefix", BUILD, "--modulefile", "tcl").stdout
        place = re.escape(str(BUILD.resolve()))
        self.assertRegex(lua, rf'(?m)^prepend_path\("PATH", "{place}/bin"\)$')
        self.assertRegex(lua, r'(?m)^family\("mpi"\)$')
        self.assertRegex(tcl, rf'(?m)^prepend-path LD_LIBRARY_PATH "{place}/lib"$')
        self.assertTrue(tcl.startswith("#%Module"))

    @unittest.skipUnless(shutil.which("tclsh"), "no tclsh here")
    def test_tcl_means_what_it_says(self):
        """The output, evaluated by an interpreter that prints the words of each command; names contain characters that are special in
        Tcl."""
        with tempfile.TemporaryDirectory(prefix="a [b] $c ") as folder:
            (Path(folder) / "bin").mkdir()
            text = modulefile.tcl(Path(folder), "1.2")
            commands = "foreach c {module-whatis conflict prepend-path setenv} { proc $c args { puts [join $args |] } }\n"
            said = subprocess.run(["tclsh"], input=commands + text, capture_output=True, text=True, timeout=20, check=True).stdout
            self.assertIn(f"PATH|{folder}/bin\n", said)
            self.assertIn(f"MPI_HOME|{folder}\n", said)


class Command(unittest.TestCase):
    """The command itself, with its output closed or its files missing."""

    def test_nobody_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([sys.executable, "-B", "-m", "headrace", "info"], stdout=writer, stderr=subprocess.PIPE, text=True,
                                timeout=60, check=False)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (141, ""))

    def test_half_removed(self):
        """Some files of the command are missing, and pip has a list of them."""
        with tempfile.TemporaryDirectory(prefix="a ünv ") as folder:
            site = Path(folder)
            shutil.copytree(ROOT / "python/headrace", site / "headrace", ignore=shutil.ignore_patterns("__pycache__", "assets"))
            info = site / "headrace-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: headrace\nVersion: 1.0\n", encoding="ascii")
            rows = [f"{path.relative_to(site)},sha256=x,1" for path in sorted(site.rglob("headrace/**/*.py"))]
            (info / "RECORD").write_text("\n".join(rows) + "\n", encoding="ascii")

            def said():
                return subprocess.run([sys.executable, "-B", "-m", "headrace", "--version"], capture_output=True, text=True, timeout=60, check=False,
                                      env={**os.environ, "PYTHONPATH": str(site)})

            self.assertEqual(said().returncode, 0, said().stderr)
            (site / "headrace/doctor/checks/ucx.py").unlink()
            self.assertEqual(said().returncode, 2)
            self.assertIn("headrace: 1 file of this installation is gone: headrace/doctor/checks/ucx.py\n", said().stderr)
            shutil.rmtree(site / "headrace/bench")
            self.assertRegex(said().stderr, r"headrace: \d+ files of this installation are gone: headrace/bench/__init__.py, .* and \d+ more\n")
            self.assertIn("pip install --force-reinstall --no-deps headrace", said().stderr)
            (info / "RECORD").unlink()
            self.assertEqual(said().returncode, 2)
            self.assertIn("and pip's list of them: No module named 'headrace.bench'\n", said().stderr)
            self.assertIn("pip install --ignore-installed --no-deps headrace", said().stderr)


if __name__ == "__main__":
    unittest.main()
