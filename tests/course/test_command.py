"""`headrace course`: every chapter in quick form, chapters as data, and errors for wrong usage.

HR_BUILD comes from CMake; HR_DEVICE is `host`, where no GPU is seen, or `cuda`, with a fake driver; HR_MAKER is `hip` if
its devices are AMD's, whose graphs cannot hold messages.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench.child import Failed  # noqa: E402 (the path comes first)
from headrace.bench.programs import Programs, locate  # noqa: E402
from headrace.course import chapter as chapters  # noqa: E402
from headrace.course import cli, show  # noqa: E402
from headrace.course.lesson import Lesson, without_gpu  # noqa: E402

BUILD = Path(os.environ["HR_BUILD"])
ON_GPU = os.environ["HR_DEVICE"] == "cuda"
IMPOSSIBLE = ("graph",) if os.environ.get("HR_MAKER") == "hip" else ()


REPORTS = """#!/bin/sh
while [ $# -gt 1 ]; do case $1 in --json) file=$2 ;; --device) [ "$2" = host ] || { echo 'laplace2d: no GPU' >&2; exit 3; } ;; esac; shift; done
echo '{"results": [{"seconds": 1.0}], "steps": 10, "device": "host"}' > "$file"
"""


def course(*words):
    """Returns exit code, standard output and standard error of the command, started as a reader starts it."""
    done = subprocess.run([sys.executable, "-B", "-m", "headrace", "course", *words], capture_output=True, text=True,
                          timeout=200, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    return done.returncode, done.stdout, done.stderr


def lesson(chapter, **more):
    return Lesson(chapter, locate(BUILD), ON_GPU, quick=True, **more)


class Command(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        self.directory = Path(self.work.name)

    def test_list(self):
        code, said, _ = course()
        self.assertEqual(code, 0)
        for chapter in chapters.all_chapters():
            self.assertIn(f"{chapter.name:<14} {chapter.title}\n", said)

    def test_every_chapter(self):
        for chapter in chapters.all_chapters():
            with self.subTest(chapter=chapter.name):
                if not all((BUILD / "bin" / program).is_file() for program in chapter.programs()):
                    self.skipTest(f"{chapter.name} was not built")  # in Fortran
                on_gpu = ON_GPU and chapter.name not in ("laplace2d", "halo3d-openacc")  # directives cannot use the fake driver
                out = self.directory / f"{chapter.name}.json"
                code, said, errors = course(chapter.name, "--quick", "--no-png", "--build", str(BUILD), "--json", str(out))
                self.assertEqual(code, 0, said + errors)
                self.assertTrue((ROOT / chapter.page).is_file(), chapter.page)
                rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
                self.assertEqual(len(rows), len(chapter.steps))
                for row, step in zip(rows, chapter.steps):
                    if step.device == "gpu" and not on_gpu:
                        self.assertEqual((row["ms_a_step"], row["note"]), (None, "needs a GPU"))
                    elif step.name in IMPOSSIBLE:
                        self.assertIsNone(row["ms_a_step"])
                        self.assertRegex(row["note"], "^left out: halo3d: pattern 'graph': .*; use pattern 'streams'$")
                        self.assertIn(f"{step.name}, {step.ranks} ranks: {row['note']}\n", said)
                    else:
                        self.assertGreater(row["ms_a_step"], 0, row)
                        self.assertEqual(row["device"] == "host", not on_gpu or step.device == "host", row)
                    self.assertEqual(row["published_seconds"], step.published)
                self.assertEqual("No GPU is used" in said, not on_gpu, said)
                if not on_gpu:
                    self.assertIn(f"Why no GPU: {chapter.programs()[0]}: exit code 3", said)
                self.assertIn("Speed against the first step", said)

    def test_published_speeds(self):
        one = lesson(chapters.find("diffusion2d"))
        one.run()
        self.assertIsNone(chapters.find("laplace2d").published(chapters.find("laplace2d").steps[1]))
        published = {(row.step.name, row.step.ranks): there for row, (_, there) in zip(one.rows, one.speeds())}
        self.assertAlmostEqual(published["staged", 4], 5.58 / 1.91)
        self.assertAlmostEqual(published["device", 4], 5.58 / 1.43)
        self.assertAlmostEqual(one.rows[2].published, 0.191)
        self.assertIn("staged, 4 ranks  |", show.bars(one))
        self.assertIn("oooo 2.92", show.bars(one))

    def test_a_chapter_is_a_copy_away(self):
        data = json.loads((chapters.DIRECTORY / "diffusion2d.json").read_text(encoding="utf-8"))
        data |= {"title": "Another", "steps": data["steps"][:2]}
        (self.directory / "another.json").write_text(json.dumps(data), encoding="utf-8")
        with unittest.mock.patch.object(chapters, "DIRECTORY", self.directory):
            self.assertEqual([c.title for c in chapters.all_chapters(self.directory)], ["Another"])
        another = lesson(chapters.find("another", self.directory))
        another.run()
        self.assertEqual([row.note for row in another.rows], ["", ""])
        self.assertTrue(all(row.here for row in another.rows))

    def test_a_step_that_fails_says_why(self):
        data = json.loads((chapters.DIRECTORY / "diffusion2d.json").read_text(encoding="utf-8"))
        data["steps"][1]["arguments"] = ["--variant", "stage"]
        (self.directory / "broken.json").write_text(json.dumps(data), encoding="utf-8")
        broken = lesson(chapters.find("broken", self.directory))
        broken.run()
        self.assertEqual(len(broken.failed()), 1)
        self.assertIn("there is no variant 'stage'", broken.rows[1].note)
        self.assertIsNone(broken.rows[1].here)
        table = show.table(broken)
        self.assertIn("failed", table)
        self.assertIn("0.308", table)  # the published figure remains

    def test_a_step_that_the_gpus_cannot_execute(self):
        """It is left out, with the program's sentence, and the command succeeds. Any other exit code is a failure."""
        data = json.loads((chapters.DIRECTORY / "diffusion2d.json").read_text(encoding="utf-8"))
        data |= {"program": "some", "steps": data["steps"][:3]}
        (self.directory / "some.json").write_text(json.dumps(data), encoding="utf-8")
        program = self.directory / "bin/some"
        program.parent.mkdir()
        find = chapters.find
        for code, here, notes, ends in ((4, "left out", ["left out: some: not with these GPUs"] * 3, 0),
                                        (3, "failed", ["failed: exit code 3: some: not with these GPUs"] * 3, 1)):
            program.write_text(f"#!/bin/sh\necho 'some: not with these GPUs' >&2\nexit {code}\n", encoding="utf-8")
            program.chmod(0o755)
            out = self.directory / "out.json"
            with self.subTest(code=code), unittest.mock.patch.object(chapters, "find", lambda name: find(name, self.directory)), \
                    contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(cli.main(["some", "--quick", "--no-png", "--device", "host", "--programs", str(program.parent), "--build", str(BUILD),
                                           "--json", str(out)]), ends)
                self.assertEqual([row["note"] for row in json.loads(out.read_text(encoding="utf-8"))["rows"]], notes)
                self.assertRegex(said.getvalue(), rf"(?m)^staged +1 +{here} ")
                self.assertIn(f"staged, 4 ranks: {notes[2]}\n", said.getvalue())

    def test_why_no_gpu(self):
        """The report names the program that finds no GPU, its message, and the cause from the debug output of GCC's run-time library."""
        program = self.directory / "bin/laplace2d-openacc"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n"
                           "[ -z \"$GOMP_DEBUG\" ] || echo 'GOMP_NVPTX_JIT: no\nDisabling nvptx offloading; cuInit: out'\n"
                           "echo 'laplace2d: no GPU' >&2\nexit 3\n", encoding="utf-8")
        program.chmod(0o755)
        found = locate(BUILD)
        programs = Programs(found.mpiexec, found.library, (program.parent,))
        self.assertEqual(without_gpu(chapters.find("laplace2d"), programs, 60),
                         "laplace2d-openacc: exit code 3: laplace2d: no GPU; Disabling nvptx offloading; cuInit: out")

    def test_what_is_no_chapter(self):
        whole = json.loads((chapters.DIRECTORY / "diffusion2d.json").read_text(encoding="utf-8"))
        cases = {"a chapter has no 'title'": {k: v for k, v in whole.items() if k != "title"},
                 "a chapter has at least one step": {**whole, "steps": []},
                 "any, host or gpu, not tpu": {**whole, "steps": [{**whole["steps"][0], "device": "tpu"}]}}
        for sentence, data in cases.items():
            path = self.directory / "x.json"
            path.write_text(json.dumps(data), encoding="utf-8")
            with self.assertRaisesRegex(Failed, sentence):
                chapters.read(path)
        path.write_text("{", encoding="utf-8")
        with self.assertRaisesRegex(Failed, "is not a chapter"):
            chapters.read(path)

    def test_wrong_usage(self):
        known = ", ".join(chapter.name for chapter in chapters.all_chapters())
        for words, sentence in ((["nothing"], f"there is no chapter 'nothing'; there are: {known}"),
                                (["../cli"], f"there is no chapter '../cli'; there are: {known}"),
                                (["halo3d", "--build", self.work.name],
                                 f"no libmpi_abi.so.1 of Headrace under {self.directory.resolve()}")):
            code, _, errors = course(*words)
            self.assertEqual((code, errors), (2, f"headrace course: {sentence}\n"))
        if not ON_GPU:
            code, _, errors = course("halo3d", "--device", "cuda", "--build", str(BUILD))
            self.assertEqual(code, 2)
            self.assertRegex(errors, r"^headrace course: --device cuda: .*no CUDA driver \(libcuda.so.1\).*\n$")
        self.assertEqual(course("halo3d", "--runs", "0")[0], 2)

    def test_a_program_that_is_not_built(self):
        data = json.loads((chapters.DIRECTORY / "diffusion2d.json").read_text(encoding="utf-8"))
        data |= {"program": "diffusion3d", "build": "build it"}
        (self.directory / "unbuilt.json").write_text(json.dumps(data), encoding="utf-8")
        find = chapters.find
        with unittest.mock.patch.object(chapters, "find", lambda name: find(name, self.directory)), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(cli.main(["unbuilt", "--build", str(BUILD)]), 2)
        self.assertRegex(said.getvalue(), r"there is no program diffusion3d in .*; build it\n")

    def test_programs_that_build_sh_has_put_somewhere(self):
        """In the current directory, in PATH, or in --programs; and a prefix that contains only the launcher."""
        prefix, own = self.directory / "prefix", self.directory / "own"
        for file, text in ((prefix / "lib/libmpi_abi.so.1", ""), (prefix / "bin/mpiexec", '#!/bin/sh\nshift 2\nexec "$@"\n'),
                           *((own / name, REPORTS) for name in ("laplace2d-openacc", "laplace2d-openmp"))):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            file.chmod(0o755)
        words = [sys.executable, "-B", "-m", "headrace", "course", "laplace2d", "--quick", "--no-png", "--build", str(prefix)]
        for where, path, more in ((own, "", []), (prefix, f"{own}:", []), (prefix, "", ["--programs", str(own)]), (prefix, "", [])):
            done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=60, cwd=where,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": path + os.environ["PATH"]})
            found = where == own or path or more
            self.assertEqual(done.returncode, 0 if found else 2, done.stdout + done.stderr)
            if not found:
                self.assertIn(f"nor in this directory or in PATH; it is built with your Fortran compiler: {prefix}/share/headrace/laplace2d/build.sh", done.stderr)

    def picture(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.chdir(self.directory):
            code = cli.main(["diffusion2d", "--quick", "--build", str(BUILD), *words])
        return code, said.getvalue()

    @unittest.skipUnless(hasattr(contextlib, "chdir"), "Python 3.11")
    def test_no_matplotlib(self):
        with unittest.mock.patch.object(show, "has_matplotlib", return_value=False):
            code, said = self.picture()
        self.assertEqual(code, 0)
        self.assertIn("No picture: matplotlib is not installed", said)
        self.assertEqual(list(self.directory.iterdir()), [])

    @unittest.skipUnless(hasattr(contextlib, "chdir") and show.has_matplotlib(), "no matplotlib")
    def test_picture(self):
        code, said = self.picture()
        self.assertEqual(code, 0)
        self.assertIn("Picture: course-diffusion2d.png", said)
        self.assertEqual((self.directory / "course-diffusion2d.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
