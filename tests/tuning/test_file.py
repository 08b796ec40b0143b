"""At the start of a job, the tuning file is found and shared by all ranks, or ignored with a message that names it."""

import os
import unittest

from tuning import BIN, JOB, LINEAR, TuningTest


class Found(TuningTest):
    def test_none_is_no_matter(self):
        self.assertEqual(self.job(), "")

    def test_it_is_picked_up(self):
        self.put(self.content(LINEAR))
        self.assertEqual(self.job(), "")
        said = self.job(HEADRACE_VERBOSE="2")
        self.assertEqual(said.count(f"tuning file {self.default}: {len(LINEAR)} rows"), 1, said)

    def test_the_knob_names_another_or_none(self):
        self.put("this is no tuning file")
        self.assertIn(str(self.default), self.job())
        self.assertEqual(self.job(HEADRACE_TUNING_FILE="off"), "")
        self.assertEqual(self.job(HEADRACE_TUNING_FILE=""), "")
        other = self.put(self.content(LINEAR), self.folder / "other.json")
        self.assertIn(f"{other}: {len(LINEAR)} rows", self.job(HEADRACE_TUNING_FILE=str(other), HEADRACE_VERBOSE="2"))

    def test_many_rows(self):
        rows = [{"operation": "allreduce", "max_bytes": size, "max_ranks": 3, "memory": "host", "oversubscribed": oversubscribed,
                 "algorithm": "linear" if size % 2 else "ring"} for size in range(200) for oversubscribed in (False, True)]
        self.put(self.content(rows + LINEAR))
        self.assertIn(f"{len(rows) + len(LINEAR)} rows", self.job(HEADRACE_VERBOSE="2"))

    def test_alone(self):
        self.put(self.content(LINEAR))
        self.assertIn("4 rows", self.job(ranks=1, HEADRACE_VERBOSE="2"))


class Shared(TuningTest):
    """If the ranks find different files, that of rank 0 is used: otherwise messages would not match."""

    def two_files(self, first, rest):
        program = (BIN / JOB[0], *JOB[1:])
        return self.job("-n", "1", "-env", "HEADRACE_TUNING_FILE", str(first), "-env", "HEADRACE_VERBOSE", "2", *program,
                        ":", "-n", "2", "-env", "HEADRACE_TUNING_FILE", str(rest), *program)

    def test_only_rank_0_has_one(self):
        self.assertIn("4 rows", self.two_files(self.put(self.content(LINEAR)), "off"))

    def test_only_the_others_have_one(self):
        self.assertNotIn("rows", self.two_files("off", self.put(self.content(LINEAR))))

    def test_they_differ(self):
        first = self.put(self.content([{"operation": "allreduce", "algorithm": "ring"}]))
        self.assertIn("1 rows", self.two_files(first, self.put(self.content(LINEAR), self.folder / "rest.json")))


class Ignored(TuningTest):
    def assert_ignored(self, *words, **variables):
        said = self.job(**variables)
        self.assertEqual(said.count("\n"), 1, said)
        for word in ("[headrace 0/3]", "is ignored", *words):
            self.assertIn(word, said)

    def test_malformed(self):
        self.put('{"format": 1,\n "rows": [}')
        self.assert_ignored(str(self.default), "line 2")

    def test_empty(self):
        self.put("")
        self.assert_ignored(str(self.default), "line 1")

    def test_unknown_algorithm(self):
        self.put(self.content([*LINEAR, {"operation": "bcast", "algorithm": "fastest"}]))
        self.assert_ignored("row 5", '"fastest"', "bcast")

    def test_unknown_operation(self):
        self.put(self.content([{"operation": "gossip", "algorithm": "linear"}]))
        self.assert_ignored("row 1", '"gossip"')

    def test_another_machine(self):
        self.put(self.content(LINEAR, machine={"cpu": "Z80", "cpus": 1, "gpus": []}))
        self.assert_ignored("another machine", "Z80", "headrace tune")

    def test_another_version(self):
        self.put(self.content(LINEAR, version="0.0.1"))
        self.assert_ignored("0.0.1")

    def test_not_there_though_named(self):
        self.assert_ignored("/no/such/file", "No such file", HEADRACE_TUNING_FILE="/no/such/file")

    def test_not_a_file(self):
        self.default.mkdir(parents=True)
        self.assert_ignored(str(self.default), "not a file")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assert_ignored(str(pipe), "not a file", HEADRACE_TUNING_FILE=str(pipe))

    def test_too_large(self):
        self.put(" " * ((1 << 20) + 1))
        self.assert_ignored("larger than 1024 KiB")


if __name__ == "__main__":
    unittest.main()
