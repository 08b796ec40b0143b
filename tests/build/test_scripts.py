"""The scripts behind `make test`, with a stub in place of ctest, pip or the package index: each failure has a sentence, totals,
and a non-zero exit code."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from own_tree import OwnTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILED = "0 passed, 1 failed, 0 skipped"


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.build = self.folder / "build"
        self.build.mkdir()
        (self.build / "CTestTestfile.cmake").touch()

    def stub(self, name, text):
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run_script(self, *command):
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(list(map(str, command)), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)

    def run_tests(self, *options):
        return self.run_script(ROOT / "scripts/run-tests.sh", self.build, *options)

    def expect_failure(self, ran, sentence):
        self.assertNotEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertRegex(ran.stderr, sentence)

    def test_every_shell_script_parses(self):
        files = subprocess.run(["git", "ls-files", "*.sh", ".ci/run"], cwd=ROOT, capture_output=True, text=True).stdout.split()
        scripts = files or [str(path.relative_to(ROOT)) for folder in ("scripts", "tests") for path in (ROOT / folder).rglob("*.sh")]
        self.assertGreater(len(scripts), 20)
        for script in scripts:
            interpreter = (ROOT / script).read_text().splitlines()[0].removeprefix("#!").split()
            ran = subprocess.run([*interpreter, "-n", script], cwd=ROOT, capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), script)

    def test_totals_of_tests(self):
        self.stub("ctest", "echo '1/3 Test #1: one ....   Passed    0.50 sec'; echo '2/3 Test #2: two ...***Failed   61.25 sec'\n"
                           "echo '3/3 Test #3: three ...***Skipped 0.01 sec'; echo '67% tests passed, 1 tests failed out of 3'; exit 8")
        ran = self.run_tests()
        self.assertEqual(ran.returncode, 8)
        self.assertEqual(ran.stdout.splitlines()[-1], "1 passed, 1 failed, 1 skipped")
        self.assertRegex(ran.stdout, r"(?s)30 slowest.*61\.2  two\n *0\.5  one")

    def test_a_test_that_hangs_counts_as_failed(self):
        self.stub("ctest", "echo '1/1 Test #1: slow ...***Timeout  60.02 sec'; echo '0% tests passed, 1 tests failed out of 1'; exit 8")
        ran = self.run_tests()
        self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1]), (8, FAILED))

    def test_no_test_ran(self):
        self.stub("ctest", "echo 'No tests were found!!!'; exit 0")
        ran = self.run_tests()
        self.expect_failure(ran, "no test ran")
        self.assertEqual(ran.stdout.splitlines()[-1], FAILED)

    def test_a_build_directory_without_tests(self):
        (self.build / "CTestTestfile.cmake").unlink()
        ran = self.run_tests()
        self.expect_failure(ran, "holds no tests; configure with -DHEADRACE_TESTS=ON")
        self.assertEqual(ran.stdout.splitlines()[-1], FAILED)

    def test_a_log_that_cannot_be_written(self):
        (self.build / "test-output.txt").mkdir()
        ran = self.run_tests()
        self.expect_failure(ran, "cannot write .*test-output.txt")
        self.assertEqual(ran.stdout.splitlines()[-1], FAILED)

    def test_seconds_by_label(self):
        """The real ctest, with the options of run-tests.sh."""
        if not (ctest := shutil.which("ctest")):
            self.skipTest("no ctest here")
        (self.build / "CTestTestfile.cmake").write_text(f'add_test(one "{ctest}" --version)\nset_tests_properties(one PROPERTIES LABELS unit)\n')
        ran = self.run_tests()
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertRegex(ran.stdout, r"Label Time Summary:\nunit +=")

    def install(self, text):
        self.stub("pip", f"echo '{text}'; exit 1")
        return self.run_script(ROOT / "scripts/pip-install.sh", self.folder, self.folder / "new")

    def test_a_full_disk(self):
        self.expect_failure(self.install("fatal error: error writing to x.s: No space left on device"), "the disk of .* is full")

    def test_a_build_directory_of_another_compiler(self):
        for text in ("x.gch: not used because `-O2 is defined", "x.gch: created by a different GCC executable",
                     "CMakeCache.txt directory /a is different"):
            self.expect_failure(self.install(text), "is of another compiler, other options or another place; remove it")

    def test_a_missing_package(self):
        self.stub("dpkg-query", "exit 1")
        self.stub("id", "echo 1000")
        self.stub("sudo", "exit 1")
        self.expect_failure(self.run_script(ROOT / "scripts/install-packages.sh", "libhwloc-dev"),
                            "needed and missing: libhwloc-dev\nInstall them .*run make again")

    def test_ci_ends_with_totals(self):
        """Without peers, without a build."""
        tree = self.folder / "tree"
        (tree / ".ci").mkdir(parents=True)
        shutil.copy(ROOT / ".ci/run", tree / ".ci/run")
        subprocess.run(["git", "init", "-q", tree], check=True)
        self.stub("make", "echo \"make: *** [$1] Error 1\"; exit 2")
        ran = self.run_script(tree / ".ci/run")
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stdout.splitlines()[-1], FAILED)
        self.assertIn("ci: other MPI libraries were not installed", ran.stdout)


class TestAll(OwnTree, unittest.TestCase):
    """test-all.sh in a tree of its own, with a stub in place of make."""

    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        (self.tree / "scripts").mkdir()
        for name in ("test-all.sh", "tree-state.sh"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts" / name)
        (self.tree / ".gitignore").write_text("/build/\n/make*\n")
        make = self.tree / "make"
        make.write_text('#!/bin/sh\necho "$2" >>make.log\ncat "make.$2" 2>/dev/null || echo "3 passed, 0 failed, 1 skipped"\n'
                        'exit "$(cat "make.$2.code" 2>/dev/null || echo 0)"\n')
        make.chmod(0o755)
        self.git("init", "-q")
        self.commit()

    def run_all(self, *parts, **environment):
        """Returns what ran, and the names of the parts that were made."""
        log = self.tree / "make.log"
        log.unlink(missing_ok=True)
        settings = {key: value for key, value in os.environ.items() if key != "AGAIN"}
        ran = subprocess.run(["scripts/test-all.sh", "build", *parts], cwd=self.tree, env={**settings, "MAKE": "./make", **environment},
                             capture_output=True, text=True, timeout=60)
        return ran, log.read_text().split() if log.exists() else []

    def expect(self, made, code=0, last="6 passed, 0 failed, 2 skipped", **environment):
        ran, found = self.run_all("a", "b", **environment)
        self.assertEqual((found, ran.returncode, ran.stdout.splitlines()[-1]), (made, code, last), ran.stdout + ran.stderr)
        return ran

    def test_a_second_run_repeats_nothing(self):
        self.expect(["a", "b"])
        ran = self.expect([])
        self.assertRegex(ran.stdout, r"(?m)^part +totals +time\na +3 passed, 0 failed, 1 skipped +\d+ s\nb +3 passed, 0 failed, 1 skipped +\d+ s$")
        self.expect(["a", "b"], AGAIN="1")

    def test_changes_repeat_everything(self):
        self.expect(["a", "b"])
        (self.tree / "new").write_text("1")  # untracked
        self.expect(["a", "b"])
        self.expect([])
        (self.tree / "new").write_text("2")
        self.expect(["a", "b"])
        (self.tree / ".gitignore").write_text("/build/\n/make*\n/ignored\n")  # tracked
        self.expect(["a", "b"])
        (self.tree / "ignored").write_text("1")
        self.expect([])
        self.commit()
        self.expect(["a", "b"])

    def test_a_part_that_fails_is_repeated(self):
        for name, text in (("b", "1 passed, 2 failed, 0 skipped\n"), ("b.code", "2\n")):
            file = self.tree / f"make.{name}"
            file.write_text(text)
            ran, _ = self.run_all("a", "b")
            self.assertEqual(ran.returncode, 1)
            self.assertRegex(ran.stdout.splitlines()[-1], "[1-9] failed")
            ran, made = self.run_all("a", "b")
            self.assertEqual((ran.returncode, made), (1, ["b"]))
            file.unlink()
            self.assertEqual(self.run_all("a", "b")[1], ["b"])
            shutil.rmtree(self.tree / "build")
        (self.tree / "make.b").write_text("make: *** No rule to make target\n")
        ran, _ = self.run_all("a", "b")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, r"(?m)^b +no totals")

    def test_a_tree_that_git_does_not_know(self):
        """A source archive: all parts run each time, and none is kept."""
        self.expect(["a", "b"])
        shutil.rmtree(self.tree / ".git")
        for _ in range(2):
            ran = self.expect(["a", "b"], GIT_CEILING_DIRECTORIES=str(self.tree.parent))
            self.assertIn("git does not know this tree", ran.stderr)

    def test_a_tree_of_another_owner(self):
        """git refuses there, even if results of a run by the owner are there."""
        self.expect(["a", "b"])
        git = self.tree / "make-bin/git"
        git.parent.mkdir()
        git.write_text("#!/bin/sh\necho 'fatal: detected dubious ownership in repository' >&2\nexit 128\n")
        git.chmod(0o755)
        for _ in range(2):
            ran = self.expect(["a", "b"], PATH=f"{git.parent}:{os.environ['PATH']}")
            self.assertRegex(ran.stderr, "dubious ownership(?s:.*)git does not know this tree")

    def test_an_archive_within_another_repository(self):
        """That repository's commit says nothing about the archive's files."""
        shutil.rmtree(self.tree / ".git")
        outer = self.tree
        self.tree = outer / "build" / "archive"
        self.tree.mkdir(parents=True)
        for each in ("scripts", "make"):
            shutil.move(outer / each, self.tree / each)
        subprocess.run(["git", "init", "-q", outer], check=True)
        for _ in range(2):
            self.assertIn("git does not know this tree", self.expect(["a", "b"]).stderr)


if __name__ == "__main__":
    unittest.main()
