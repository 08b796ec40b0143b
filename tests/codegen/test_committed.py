"""The committed files are the generator's output, and writing twice changes nothing."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import API, ROOT


def generate(*arguments):
    subprocess.run([sys.executable, API / "generate.py", *arguments], check=True)


class Committed(unittest.TestCase):
    def test_regenerated_files_are_equal(self):
        with tempfile.TemporaryDirectory() as directory:
            generate("repo", directory)
            written = sorted(path.relative_to(directory) for path in Path(directory).rglob("*") if path.is_file())
            self.assertIn(Path("include/mpi.h"), written)
            for path in written:
                with self.subTest(path=str(path)):
                    self.assertEqual((Path(directory) / path).read_text(), (ROOT / path).read_text(),
                                     f"{path} is not what the tables say; run: python3 api/generate.py repo")

    def test_a_second_build_touches_no_file(self):
        with tempfile.TemporaryDirectory() as directory:
            generate("build", directory)
            before = {path: path.stat().st_mtime_ns for path in Path(directory).rglob("*")}
            generate("build", directory)
            self.assertEqual(before, {path: path.stat().st_mtime_ns for path in Path(directory).rglob("*")})

    def test_wrong_use_gives_usage(self):
        result = subprocess.run([sys.executable, API / "generate.py", "nonsense"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("generate.py build DIR", result.stderr)


class FunctionsAndTests(unittest.TestCase):
    def test_every_function_has_a_test_that_misses_it(self):
        from gen import model
        rows = [line.split("\t") for line in (ROOT / "tests/noop/found.tsv").read_text().splitlines()]
        found = {function: source for function, _, source in rows}
        missing = [f.name for f in model.read(API).functions if f.name not in found]
        self.assertEqual(missing, [], "python3 tests/noop/find.py BUILD looks for tests")
        for source in sorted(set(found.values())):
            self.assertTrue((ROOT / source).is_file(), f"{source} is gone; run: make noop")


class Tables(unittest.TestCase):
    def test_unknown_kind_is_named(self):
        from gen import model
        with self.assertRaisesRegex(model.TableError, "MPI_X.*nonsense x"):
            model.parse_function("MPI_X", "nonsense x", "chapter", {})

    def test_unknown_word_after_the_parameters_is_named(self):
        from gen import model
        kinds = model.read(API).kinds
        with self.assertRaisesRegex(model.TableError, "MPI_X.*'colective'.*collective"):
            model.parse_function("MPI_X", "comm comm; colective", "chapter", kinds)

    def test_every_error_class_has_a_sentence(self):
        from gen import model
        tables = model.read(API)
        classes = set(tables.constants["error_classes"]["values"]) - {"MPI_ERR_LASTCODE"}
        self.assertEqual(classes, set(tables.errors))


if __name__ == "__main__":
    unittest.main()
