"""Completion of mpiexec and headrace: bash, zsh and fish complete words, if these shells are installed."""

import os
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

SHARE = Path(os.environ["HR_BUILD"]) / "share"
BASH = SHARE / "bash-completion/completions"

# Completes a line as bash does at a tab, without a terminal.
DRIVER = """
compopt() { :; }
. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
$(complete -p "${2%% *}" | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""

# the line, words that must be among the answers, words that must not
LINES = [
    ("mpiexec --bin", {"--bind-to", "--bind-to-core"}, {"--map-by"}),
    ("mpirun -pp", {"-ppn"}, {"--ppn"}),
    ("orterun --bind-to l3", {"l3cache"}, {"core"}),
    ("mpiexec --bind-to=so", {"socket"}, {"--bind-to=socket"}),
    ("mpiexec -n 2 --map-by ", {"core", "ppr", "scatter"}, {"--bind-to"}),
    ("mpiexec -n 2 --hosts a:2,b:1 --rank-by sp", {"span"}, set()),
    ("mpiexec -genv A B --rank-by fi", {"fill"}, set()),
    ("mpiexec -n ", {""}, {"core"}),
    ("mpiexec -n 2 --wdir su", {"subdirectory"}, {"sum.txt"}),
    ("mpiexec -n 2 --hostfile s", {"sum.txt", "subdirectory"}, set()),
    ("mpiexec -n 2 ./su", {"./sum.txt"}, {"--bind-to"}),
    ("mpiexec -n 2 ech", {"echo"}, set()),
    ("mpiexec -n 2 echo --bin", {""}, {"--bind-to"}),
    ("mpiexec -n 2 echo s", {"sum.txt"}, set()),
    ("mpiexec -n 2 echo x : --bin", {"--bind-to"}, set()),
    ("mpiexec.hydra -n 1 -- ech", {"echo"}, set()),
    ("headrace ", {"doctor", "info", "completion"}, {"--json"}),
    ("headrace inf", {"info"}, {"doctor"}),
    ("headrace info --mod", {"--modulefile"}, set()),
    ("headrace info --modulefile ", {"lua", "tcl"}, set()),
    ("headrace map --bind", {"--bind-to"}, set()),
    ("headrace map --bind-to co", {"core"}, set()),
    ("headrace doctor --on", {"--only"}, {"--modulefile"}),
    ("headrace completion f", {"fish"}, {"bash"}),
    ("headrace top --on", {"--once"}, {"--only"}),
    ("headrace monitor --rep", {"--reports", "--report-to"}, {"--ranks"}),
    ("headrace stack --ra", {"--ranks"}, {"--rebuild"}),
    ("headrace bench --vs", {"--vs"}, {"--version"}),
    ("headrace bench --form ", {"blocking", "persistent"}, {"table"}),
    ("headrace tune --mes", {"--messages"}, set()),
    ("headrace course --device ", {"auto", "host", "cuda"}, set()),
]


class Bash(unittest.TestCase):
    def test_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "subdirectory").mkdir()
            (Path(folder) / "sum.txt").touch()
            for line, wanted, unwanted in LINES:
                with self.subTest(line):
                    script = BASH / line.split()[0]
                    result = subprocess.run(["bash", "-c", DRIVER, "bash", str(script), line], capture_output=True, text=True,
                                            timeout=20, check=False, cwd=folder)
                    self.assertEqual(result.stderr, "")
                    found = set(result.stdout.split("\n")[:-1])
                    self.assertLessEqual(wanted, found)
                    self.assertFalse(unwanted & found)

    def test_every_option_that_applies_is_offered(self):
        from headrace import completion
        mpiexec = completion.of_mpiexec(Path(os.environ["HR_BUILD"]) / "bin/mpiexec")
        text = (BASH / "mpiexec").read_text(encoding="utf-8")
        for option in mpiexec.options:
            self.assertIn(option.names[0], text)
        self.assertNotIn("--rankfile", text)  # refused


class Others(unittest.TestCase):
    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh_reads_it(self):
        script = SHARE / "zsh/site-functions/_headrace"
        subprocess.run(["zsh", "-n", str(script)], timeout=20, check=True)
        text = subprocess.run(["zsh", "-fc", f"autoload -Uz compinit; fpath=({script.parent} $fpath); compinit -D -u; "
                               "print $_comps[mpiexec] $_comps[headrace]"], timeout=30, check=True, capture_output=True, text=True).stdout
        self.assertEqual(text.split(), ["_headrace", "_headrace"])

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh_completes(self):
        """On a terminal: the line is typed, then a tab, and the shell writes the rest of the word."""
        place = SHARE / "zsh/site-functions"
        child, terminal = pty.fork()
        if child == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": "/nowhere", "PS1": "> "})
        try:
            self.type(terminal, f"PS1='' PROMPT_EOL_MARK=''; fpath=({place} $fpath); autoload -Uz compinit; compinit -u -D; echo re''ady\n", "ready")
            for line, wanted in (("mpirun --bind-to soc", "socket"), ("mpiexec -n 2 --map-by scat", "scatter"), ("headrace inf", "info"),
                                 ("headrace info --modulef", "--modulefile")):
                self.type(terminal, line + "\t", wanted)
                self.type(terminal, "\x15echo ne''xt\n", "next")  # clears the line
        finally:
            os.close(terminal)  # a hang-up ends the shell
            os.waitpid(child, 0)

    def type(self, terminal, text, wanted):
        """Types the text and reads until the shell has written what is wanted."""
        os.write(terminal, text.encode())
        said, end = "", time.monotonic() + 20
        while wanted not in said:
            ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"{text!r}: {said!r}")
            said += os.read(terminal, 4096).decode(errors="replace").replace("\a", "")

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_completes(self):
        script = SHARE / "fish/vendor_completions.d/mpirun.fish"
        for line, wanted in (("mpirun --bind", "--bind-to"), ("mpirun --bind-to soc", "socket"), ("headrace inf", "info"),
                             ("headrace info --modulef", "--modulefile")):
            text = subprocess.run(["fish", "-N", "-c", f"source {script}; complete -C '{line}'"], timeout=30, check=True,
                                  capture_output=True, text=True).stdout
            self.assertIn(wanted, text)


if __name__ == "__main__":
    unittest.main()
