"""The tables of docs/coming-from.md: every option that they name is passed to mpiexec, which accepts it, notes it or refuses it."""

import re
import tempfile
import unittest
from pathlib import Path

import yaml
from headrace import counterparts
from programs import BIN, ROOT, run

PAGE = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")


def table(name):
    """Options in the cells of a table, without the first cells (taken) or the last ones (noted, refused)."""
    body = re.search(rf"<!-- options: {name} -->\n(.*?)<!-- end -->", PAGE, re.S)[1]
    rows = [line.strip("|").split("|") for line in body.splitlines() if line.startswith("| ")][1:]
    cells = [cell for row in rows for cell in (row[1:] if name == "taken" else row[:1])]
    return [option for cell in cells for option in re.findall(r"`([^`]+)`", cell)]


class Options(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "hosts").write_text("localhost slots=4\n", encoding="ascii")
        (self.folder / "app").write_text("-n 2 echo ran\n", encoding="ascii")

    def run_options(self, text):
        program = () if " app" in text else ("echo", "ran")
        return run(BIN / "mpiexec", *text.split(), *program, cwd=self.folder)

    def test_taken(self):
        # Leaves no host to run on. The message reports that, so the option was accepted.
        alone = {"--nolocal", "-skip-launch-node"}
        options = table("taken")
        self.assertGreater(len(options), 80)
        for text in options:
            if not text.startswith("-"):
                continue  # the cell names a variable or another program
            with self.subTest(text):
                result = self.run_options(text)
                if text in alone:
                    self.assertIn("there is no host but this one", result.stderr)
                    continue
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("without effect", result.stderr)
                if text != "--do-not-launch":
                    self.assertIn("ran", result.stdout)

    def test_noted(self):
        for text in table("noted"):
            with self.subTest(text):
                result = self.run_options(text)
                self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result.stderr)
                self.assertIn(f"without effect here: {text}", result.stderr)

    def test_refused(self):
        for text in table("refused"):
            with self.subTest(text):
                result = self.run_options(text)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertTrue(result.stderr.startswith(f"mpiexec: {text}: "), result.stderr)
                self.assertNotIn("unknown", result.stderr)

    def test_the_page_names_every_option_that_is_refused(self):
        """The page names each option, so that readers find it."""
        import json
        refused = [entry for entry in json.loads(run(BIN / "mpiexec", "--list-options").stdout) if entry["effect"] == "refused"]
        written = {word.lstrip("-") for text in table("refused") for word in text.split()[:1]}
        for entry in refused:
            self.assertTrue(written & set(entry["names"]) or entry["names"][0] in ("preload-binary",), entry["names"])


class Variables(unittest.TestCase):
    def test_the_script_in_place_of_torchrun(self):
        text = re.search(r"```sh\n(#!/bin/sh\n# as_torchrun.sh.*?)```", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.S)[1]
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "as_torchrun.sh"
            script.write_text(text, encoding="ascii")
            shown = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"
            for words, address in (((), "127.0.0.1:29500"), (("-genv", "MASTER_ADDR", "node1"), "node1:29500")):
                result = run(BIN / "mpiexec", "-n", "3", "--as-hosts", "2", *words, "sh", script, "sh", "-c", shown)
                self.assertEqual(sorted(result.stdout.splitlines()), [f"{place} {address}" for place in ("0/3 0/2", "1/3 1/2", "2/3 0/1")], result.stderr)

    def test_the_table_is_that_of_doctor(self):
        body = re.search(r"<!-- variables: .*? -->\n(.*?)<!-- end -->", PAGE, re.S)[1]
        self.assertEqual(body.strip(), counterparts.markdown().strip(), "python3 -m headrace.counterparts prints it anew")

    def test_what_they_name_is_there(self):
        knobs = {f"HEADRACE_{knob['name'].upper()}" for knob in yaml.safe_load((ROOT / "api/knobs.yaml").read_text(encoding="utf-8"))}
        options = run(BIN / "mpiexec", "--help").stdout
        for each in counterparts.TABLE:
            for name in re.findall(r"HEADRACE_\w+", each.instead):
                self.assertIn(name, knobs)
            for option in re.findall(r"(?<=[ ,])(--?[a-z-]+)", each.instead):
                self.assertIn(option.lstrip("-"), options)

    def test_each_pattern_counts(self):
        """No entry is hidden by an earlier one, and each belongs to a library."""
        for each in counterparts.TABLE:
            for pattern in each.names.split():
                name = pattern.replace("*", "X")
                with self.subTest(pattern):
                    self.assertEqual(counterparts.counterpart(name), each.instead)
                    self.assertIsNotNone(counterparts.owner_of(name))

    def test_what_wrappers_read_is_not_said_to_be_unread(self):
        for name in counterparts.READ:
            self.assertIsNone(counterparts.owner_of(name))


if __name__ == "__main__":
    unittest.main()
