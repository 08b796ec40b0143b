"""The scripts for a machine with many cores, with a stub in place of ctest: totals, exit codes, what is left out, and results that
are not of this tree."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from own_tree import OwnTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ("scripts/run-tests.sh", "scripts/run-tier.sh", "scripts/tree-state.sh", "scripts/sanitize.sh", "Makefile",
           "tests/many_cores/parts.py", "tests/many_cores/run-passes.sh", "tests/many_cores/night.sh")
# Lists two tests (none where $FOLDER/none is), or runs those chosen by their places: each passes unless $FOLDER/fail names it, and
# ends as $FOLDER/code says.
CTEST = """#!/bin/sh
FOLDER={folder}
echo "$HEADRACE_AS_HOSTS $HEADRACE_NETWORK $*" >>$FOLDER/calls
case "$*" in
  *show-only*) echo '{{"tests": []}}'; exit 0 ;;
  *" -N"*|"-N "*) [ -e $FOLDER/none ] || printf '  Test #1: one\\n  Test #2: two\\n'; exit 0 ;;
esac
case "$*" in *"0,0,0,1"|*"0,0,0,2") places=${{*##*,}} ;; *) places="1 2" ;; esac
for place in $places; do
  name=$([ $place = 1 ] && echo one || echo two)
  if grep -q $name $FOLDER/fail 2>/dev/null; then
    echo "$place/2 Test #$place: $name ........Subprocess aborted***Exception:   0.10 sec"; failed=1
  else
    echo "$place/2 Test #$place: $name ........   Passed    0.10 sec"
  fi
done
echo "50% tests passed, ${{failed:-0}} tests failed out of 2"
exit $(cat $FOLDER/code 2>/dev/null || echo ${{failed:-0}})
"""


class ManyCores(OwnTree, unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.tree = self.folder / "tree"
        for name in SCRIPTS:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        self.write(self.tree / "tests/many_cores/apart.sh", '#!/bin/sh\nshift 3\nexec "$@"\n')
        self.build = self.tree / "build/pip"
        self.build.mkdir(parents=True)
        (self.build / "CTestTestfile.cmake").touch()
        (self.build / "CMakeCache.txt").write_text("HEADRACE_UCX_INCLUDE_DIR:PATH=/usr\nHEADRACE_OFI_INCLUDE_DIR:PATH=NOTFOUND\n")
        self.bin = self.tree / ".venv/bin"  # parts.py has it in the path
        self.write(self.bin / "ctest", CTEST.format(folder=self.folder))
        self.write(self.bin / "ldconfig", '#!/bin/sh\nprintf "\\tlibucp.so.0 (libc6,x86-64) => /lib/libucp.so.0\\n"\n')
        (self.tree / ".gitignore").write_text("/build/\n/.venv/\n__pycache__/\n")
        self.git("init", "-q")
        self.commit()

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, *command):
        environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "GIT_CEILING_DIRECTORIES": str(self.folder)}
        for name in ("HEADRACE_AS_HOSTS", "HEADRACE_NETWORK"):
            environment.pop(name, None)
        return subprocess.run(list(map(str, command)), cwd=self.tree, env=environment, capture_output=True, text=True, timeout=100)

    def calls(self):
        """Returns the calls of ctest that ran tests since the last call of this, each with the variables before it."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines()
        file.unlink()
        return [line for line in lines if "output-on-failure" in line]

    # run-passes.sh

    def passes(self, *options):
        return self.run_script(self.tree / "tests/many_cores/run-passes.sh", self.tree, self.build, "abc", *options)

    def test_passes(self):
        """On one host, as two, and over the network library that the build has found."""
        ran = self.passes()
        self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1]), (0, "6 passed, 0 failed, 0 skipped"), ran.stdout + ran.stderr)
        self.assertEqual([line.partition("--test-dir")[0].strip() for line in self.calls()], ["", "2", "2 ucx"])
        for left_out in ("2 tests: they install the package", "make noop", "make sanitize", "over ofi: the build has not found"):
            self.assertIn(left_out, ran.stdout)

    def test_passes_of_some_tests(self):
        ran = self.passes("-R", "one")
        self.assertEqual((ran.returncode, len(self.calls())), (0, 2))
        self.assertIn("left out: as two hosts, over ucx: ctest options are given", ran.stdout)

    def test_a_missing_library(self):
        self.write(self.bin / "ldconfig", "#!/bin/sh\n")
        ran = self.passes()
        self.assertEqual((ran.returncode, len(self.calls())), (0, 2))
        self.assertIn("over ucx: no libucp.so.0 here", ran.stdout)

    def test_a_failed_pass(self):
        (self.folder / "fail").write_text("two")
        ran = self.passes()
        self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1]), (1, "3 passed, 3 failed, 0 skipped"))

    def test_ctest_fails_without_a_failed_test(self):
        (self.folder / "code").write_text("8")
        ran = self.passes()
        self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1]), (1, "6 passed, 1 failed, 0 skipped"))

    # night.sh

    def night(self, code, *words):
        """Returns what ran, and the calls of parts.py; those for the release build end with this code."""
        self.write(self.bin / "mountpoint", "#!/bin/sh\n")
        calls = self.folder / "calls"
        self.write(self.tree / "tests/many_cores/in_root.sh", f'#!/bin/sh\necho "$*" >>{calls}\ncase "$*" in *release*) exit {code} ;; esac\n')
        ran = self.run_script(self.tree / "tests/many_cores/night.sh", self.folder, self.folder / "logs", "60", "0", *words)
        lines = [line.partition("parts.py ")[2] for line in calls.read_text().splitlines()]
        calls.unlink()
        return ran, sorted(line.partition(" --limit")[0] + line[-13:] * line.endswith(" --carry-over") for line in lines)

    def test_night(self):
        others = ["/logs/all test tsan asan asan2 --carry-over", "/logs/builds build tsan asan"]
        release = "/logs/all test release release2 ofi2"
        for code in (0, 1):
            ran, calls = self.night(code)
            self.assertEqual((ran.returncode, calls), (code, [release, *others]), ran.stdout + ran.stderr)
        self.assertEqual(self.night(0, "--carry-over")[1], [f"{release} --carry-over", *others])

    def test_a_night_on_results_of_another_tree(self):
        ran, calls = self.night(2)
        self.assertEqual((ran.returncode, len(calls)), (1, 2))
        self.assertIn("sanitizers are left out", ran.stdout)

    # parts.py

    def parts(self, *words):
        return self.run_script(self.tree / "tests/many_cores/parts.py", self.folder / "logs", "test", *words)

    def expect(self, ran, code, *said):
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        for each in said:
            self.assertIn(each, ran.stdout + ran.stderr)

    def test_parts_resume(self):
        (self.folder / "fail").write_text("two")
        self.expect(self.parts("release"), 1, "== release: 1 passed, 1 failed, 0 skipped, 0 not run", "two: Exception after 0.10 s")
        self.calls()
        (self.folder / "fail").unlink()
        self.expect(self.parts("release"), 0, "== release: 2 passed, 0 failed", "two: failed in an earlier run")
        self.assertEqual([line[-7:] for line in self.calls()], ["0,0,0,2"])

    def test_what_parts_leave_out(self):
        ran = self.parts("release", "change2", "night2", "asan")
        self.expect(ran, 0, "they need a browser", "labels ^(mpi4py|install", "namespaces_random_faults", "mpi4py-fft", "make test-wheel",
                    "test-without-precompiled", "part ucx2: not chosen", "part namespaces: not chosen", "part outside2: not chosen")
        for part in ("release", "release2", "change", "asan"):
            self.assertNotIn(f"part {part}: not chosen", ran.stdout)
        self.expect(self.parts("change2"), 0, "part release2: not chosen")

    def test_results_of_another_tree(self):
        """A build of another commit, or of changed files, has passed nothing."""
        self.expect(self.parts("release"), 0)
        (self.tree / "file").touch()
        self.commit()
        self.calls()
        self.expect(self.parts("release"), 2, "has results of another tree", "--carry-over")
        self.assertFalse((self.folder / "calls").exists())
        ran = self.parts("release", "--carry-over")
        self.expect(ran, 0, "== release: 2 passed")
        self.assertEqual(self.calls(), [])
        self.assertEqual(len(ran.stdout.partition("results of:")[2].split("\n  ")), 3, ran.stdout)
        self.expect(self.parts("release"), 0)  # continues what has been carried over
        (self.tree / "file").write_text("changed")
        self.expect(self.parts("release"), 2, "has results of another tree")
        shutil.rmtree(self.folder / "logs")
        ran = self.parts("release")
        self.expect(ran, 0)
        self.assertEqual(len(ran.stdout.partition("results of:")[2].split("\n  ")), 2, ran.stdout)

    def test_results_of_an_unknown_tree(self):
        shutil.rmtree(self.tree / ".git")
        self.expect(self.parts("release"), 0, "results of:\n  unknown")
        self.expect(self.parts("release"), 2, "or of one that git does not know")
        self.expect(self.parts("release", "--carry-over"), 0)
        (self.folder / "logs/commits.txt").unlink()  # as earlier versions left it
        self.expect(self.parts("release"), 2)

    def test_a_part_without_tests(self):
        (self.folder / "none").touch()
        self.expect(self.parts("release"), 1, "no test found: is its build finished?")
        self.expect(self.parts("relaese"), 2, "no part relaese; there are release, ")


if __name__ == "__main__":
    unittest.main()
