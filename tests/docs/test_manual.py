"""Manual pages: each function and command has one, mandoc reports no faults, man displays them; prototypes are those of
the headers.

HR_BUILD: the build directory, whose share/man is checked. HR_DOCS=required (make test): a missing mandoc is a failure.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANUAL = Path(os.environ["HR_BUILD"]) / "share/man"
REQUIRED = os.environ.get("HR_DOCS") == "required"
sys.path.insert(0, str(ROOT / "api"))
from gen import model  # noqa: E402
from gen.extensions import Extensions  # noqa: E402

TABLES = model.read(ROOT / "api")
EXTENSIONS = Extensions(TABLES, ROOT / "api").all
COMMANDS = ("mpiexec", "mpirun", "mpicc", "mpicxx", "mpifort", "headrace", "headrace-doctor", "headrace-info", "headrace-map", "headrace-monitor",
            "headrace-tune")


def pages():
    return sorted(MANUAL.glob("man[13]/*.[13]"))


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def plain(c: str) -> str:
    """C without differences in style."""
    return re.sub(r"\s+", "", c)


class Manual(unittest.TestCase):
    def test_every_function_and_command(self):
        names = {f.form(large) for f in TABLES.functions for large in ([False, True] if f.has_large else [False])} | {e.name for e in EXTENSIONS}
        there = {path.stem for path in MANUAL.glob("man3/*.3")}
        self.assertEqual(names, there)
        for name in COMMANDS:
            self.assertTrue((MANUAL / f"man1/{name}.1").is_file(), name)

    def test_nothing_left_out(self):
        """Each page has a synopsis, a section and a purpose; each parameter has a direction."""
        for path in MANUAL.glob("man3/*.3"):
            page = text(path)
            if page.startswith(".so "):
                self.assertTrue((MANUAL / page.split()[1]).is_file(), path)
                continue
            with self.subTest(page=path.name):
                self.assertRegex(page, r"(?m)^\.Nd \w.{4,}")
                self.assertRegex(page, r"(?m)^\.Ss Fortran")
                self.assertRegex(page, r"MPI 5\.0, (section|chapter) [0-9.]+\.|The function is an extension")
                for item in re.findall(r"(?m)^\.It Fa .*$", page):
                    self.assertRegex(item, r" Pq (input|output|input and output)$")

    def test_what_a_page_says(self):
        page = text(MANUAL / "man3/MPI_Recv.3")
        for line in ('.Fa "MPI_Status *status"', ".It Fa buf Pq output", "MPI 5.0, section 3.2.4.", "  type(MPI_Comm), intent(in) :: comm", ".It Er MPI_ERR_RANK"):
            self.assertIn(line, page.splitlines())
        page = text(MANUAL / "man1/mpiexec.1")
        for word in (".It Fl n , Fl -np", "HEADRACE_LAUNCHER", ".It 124"):
            self.assertIn(word, page)
        for path in pages():
            self.assertNotRegex(text(path), r"/root/|/home-of|/tmp/|/work/", f"{path.name} has a path of the machine that built it")

    def test_prototypes_of_extensions(self):
        headers = "".join(text(ROOT / "include" / name) for name in ("mpi-ext.h", "mpix-device.h"))
        declared = set(re.findall(r"^(?:int|MPIX_DEVICE_FUNCTION \w+) (MPIX_\w+)\(", headers, re.M))
        self.assertEqual(declared, {e.name for e in EXTENSIONS})
        for extension in EXTENSIONS:
            self.assertIn(plain(extension.prototype()), plain(headers))

    @unittest.skipUnless(shutil.which("mandoc") or REQUIRED, "mandoc is not installed")
    def test_lint(self):
        own = [path for path in pages() if not text(path).startswith(".so ")]
        said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *own], capture_output=True, text=True, timeout=100).stdout
        self.assertEqual(said, "")

    def test_references(self):
        """Each page to which another one refers exists."""
        there = {f"{path.stem} {path.suffix[1:]}" for path in pages()}
        for path in pages():
            self.assertEqual(set(re.findall(r"(?m)^\.Xr (\S+ \d)", text(path))) - there, set(), path.name)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_shows_them(self):
        for path, word in (("man1/mpiexec.1", "--map-by HOW"), ("man3/MPI_Send.3", "MPI_Send(const void *buf"), ("man3/MPI_Send_c.3", "MPI_Send_c"),
                           ("man3/MPIX_Comm_shrink.3", "MPIX_Comm_shrink")):
            shown = subprocess.run(["man", "-M", MANUAL, path[3], Path(path).stem], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                                   env=os.environ | {"MANPAGER": "cat", "MANWIDTH": "100", "LC_ALL": "C"})
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(word, re.sub(r".\x08", "", shown.stdout))


if __name__ == "__main__":
    unittest.main()
