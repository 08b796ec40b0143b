"""The commands of `headrace`: one parser knows them all, and messages name the command that was called."""

import contextlib
import io
import subprocess
import unittest
import unittest.mock

from headrace import cli, map

COMMANDS = ("info", "completion", "config", "map", "doctor", "top", "monitor", "stack", "bench", "tune", "course")


def headrace(*words: str) -> subprocess.CompletedProcess:
    """Runs the command in this process."""
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        try:
            code = cli.main(list(words))
        except SystemExit as ended:
            code = ended.code
    return subprocess.CompletedProcess(words, code, said.getvalue(), complained.getvalue())


class Commands(unittest.TestCase):
    def assert_refused(self, words: tuple[str, ...], *said: str) -> None:
        result = headrace(*words)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        for text in said:
            self.assertIn(text, result.stderr)

    def test_without_a_command(self):
        result = headrace()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, headrace("--help").stdout)
        listed = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("    ") and not line.startswith("     ")]
        self.assertEqual(tuple(listed), COMMANDS)

    def test_version(self):
        result = headrace("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\Aheadrace \S.*\n\Z")

    def test_help_of_each(self):
        for name in COMMANDS:
            with self.subTest(name):
                result = headrace(name, "--help")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout.startswith(f"usage: headrace {name} "), result.stdout[:80])

    def test_wrong_commands(self):
        self.assert_refused(("docter",), "invalid choice: 'docter'", "'doctor'", "usage: headrace ")
        self.assert_refused(("--frob", "doctor"), "--frob")
        self.assert_refused(("doctor", "top"), "usage: headrace doctor ", "unrecognized arguments: top")

    def test_wrong_options(self):
        for name in COMMANDS:
            if name != "map":  # mpiexec reads its words
                with self.subTest(name):
                    words = (name, "bash") if name == "completion" else (name,)
                    self.assert_refused((*words, "--frob"), f"usage: headrace {name} ", f"headrace {name}: error: unrecognized arguments: --frob")

    def test_options_that_do_not_fit_together(self):
        for words, said in ((("doctor", "--run", "--job"), "doctor: error: --run and --job are two things"),
                            (("top", "--period", "0"), "top: error: --period is from 0.05"),
                            (("stack", "--seconds", "0"), "stack: error: --seconds is from 0.1"),
                            (("monitor", "--otlp", "--save", "x"), "monitor: error: --otlp is for a monitor"),
                            (("bench", "latency", "--runs", "0"), "bench: error: --runs, --samples and --ranks are at least 1"),
                            (("tune", "--rounds", "0"), "tune: error: --rounds is at least 1"),
                            (("course", "--png", "x", "--no-png"), "course: error: --png and --no-png contradict")):
            with self.subTest(words):
                self.assert_refused(words, f"headrace {said}", f"usage: headrace {words[0]} ")

    def test_first_words_with_parsers_of_their_own(self):
        for words in (("monitor", "export"), ("monitor", "pmpi"), ("bench", "--gpu")):
            with self.subTest(words):
                self.assertTrue(headrace(*words, "--help").stdout.startswith(f"usage: headrace {' '.join(words)} "))
                self.assert_refused((*words, "--frob"), f"headrace {' '.join(words)}: error:")

    def test_map_leaves_its_words_to_mpiexec(self):
        """Also those that are options of `headrace` itself, and a program after "--"."""
        for words in (["--version"], ["-n", "4", "--map-by", "core", "prog", "--help"], ["--json", "-h", ":", "-n", "1"]):
            with unittest.mock.patch.object(map.installation, "find_mpiexec", lambda: "mpiexec"), \
                    unittest.mock.patch.object(map.subprocess, "run") as run:
                run.return_value.returncode = 3
                self.assertEqual(headrace("map", *words).returncode, 3)
                self.assertEqual(run.call_args.args, (["mpiexec", "--do-not-launch", *words],))


if __name__ == "__main__":
    unittest.main()
