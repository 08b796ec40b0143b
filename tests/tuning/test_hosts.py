"""Settings announced by process 0 apply to all ranks, on one host and on several, with several kinds of launchers."""

import os
import tempfile
import unittest

from launching import Job
from tuning import LINEAR, TuningTest

PROBE = os.environ["HR_SETTINGS_PROBE"]
KINDS = [("(vector,(0,2,2))", True), ("(vector,(0,1,4))", True), (None, True), ("(vector,(0,2,2))", False), (None, False)]


class Hosts(TuningTest):
    def start(self, mapping, ours, first, rest, last_two=None):
        job = Job([PROBE], mapping, ours, [first, rest, last_two or rest, last_two or rest])
        results = job.run()
        for code, _, errors in results:
            self.assertEqual(code, 0, errors)
        rows = [output.split() for _, output, _ in results]
        self.assertEqual([row[0] for row in rows], ["0", "1", "2", "3"])
        self.assertEqual(len({row[2] for row in rows}), 1, rows)
        return job, rows, [errors for _, _, errors in results]

    def test_hosts(self):
        # If the launcher declares hosts, they are used; otherwise, these ranks detect that they share memory.
        wanted = [["0", "0", "1", "1"]] + [["0"] * 4] * 4
        for (mapping, ours), hosts in zip(KINDS, wanted):
            with self.subTest(mapping=mapping, ours=ours):
                _, rows, _ = self.start(mapping, ours, {}, {})
                self.assertEqual([row[1] for row in rows], hosts)

    def test_where_memory_is_not_shared(self):
        for mapping, ours in KINDS[2:]:
            with self.subTest(mapping=mapping, ours=ours), tempfile.TemporaryDirectory() as here, \
                    tempfile.TemporaryDirectory() as there:
                _, rows, _ = self.start(mapping, ours, {"HEADRACE_SHM_DIR": here}, {"HEADRACE_SHM_DIR": here},
                                        {"HEADRACE_SHM_DIR": there})
                self.assertEqual([row[1] for row in rows], ["0", "0", "1", "1"])
                self.assertEqual(os.listdir(here) + os.listdir(there), [])

    def test_one_exchange(self):
        fences = [1, 1, 2, 3, 3]
        for (mapping, ours), wanted in zip(KINDS, fences):
            with self.subTest(mapping=mapping, ours=ours):
                job, _, _ = self.start(mapping, ours, {}, {})
                self.assertEqual(job.fences, wanted)
                # Process 0 fetches the mapping, or each process's view of its host; the others fetch process 0's answer.
                self.assertLessEqual(job.gets, 4 + 3)

    def test_knobs_are_process_zeros(self):
        first = {"HEADRACE_COLL_FORCE": "bcast:linear", "HEADRACE_SHM_RING_BYTES": "65536", "HEADRACE_VERBOSE": "1"}
        rest = {"HEADRACE_COLL_FORCE": "bcast:binomial", "HEADRACE_COLL_SHARED_AFTER": "9", "HEADRACE_VERBOSE": "1"}
        for mapping, ours in KINDS:
            with self.subTest(mapping=mapping, ours=ours):
                _, rows, errors = self.start(mapping, ours, first, rest)
                for row in rows:
                    self.assertEqual(row[3:6], ["'bcast:linear'", "65536", "3"])
                self.assertEqual(errors[0], "")
                for text in errors[1:]:
                    self.assertIn('knob coll_force is "bcast:binomial" here, but process 0\'s value holds for the job: '
                                  '"bcast:linear"', text)
                    self.assertIn("knob coll_shared_after", text)
                    self.assertNotIn("shm_ring_bytes", text)

    def test_rows_are_process_zeros(self):
        few = str(self.put(self.content([{"operation": "allreduce", "algorithm": "ring"}])))
        many = str(self.put(self.content(LINEAR * 100), self.folder / "many.json"))
        for first, rest, rows in ((few, many, "1"), (many, few, "400"), (many, "off", "400"), ("off", many, "0")):
            for mapping, ours in KINDS:
                with self.subTest(first=first, rest=rest, mapping=mapping, ours=ours):
                    _, said, _ = self.start(mapping, ours, {"HEADRACE_TUNING_FILE": first},
                                            {"HEADRACE_TUNING_FILE": rest})
                    self.assertEqual([row[6] for row in said], [rows] * 4)


if __name__ == "__main__":
    unittest.main()
