"""`headrace top`: rates between two sweeps, text, JSON, no job."""

import contextlib
import io
import json
import unittest

import support  # noqa: F401  (the source tree's modules)
from headrace.monitor import top
from headrace.monitor.model import Sweep
from headrace.monitor.synthetic import Job, Synthetic


class Ticking(Synthetic):
    """A second passes between two sweeps."""

    def sweep(self, details):
        self.time += 1
        return super().sweep(details)


class Nothing:
    def sweep(self, details):
        return Sweep(1.0, remarks=["a page of version 9; this headrace reads version 1"])

    def close(self):
        pass


class Top(unittest.TestCase):
    def said(self, source, *words):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            code = top.main(["--once", "--period", "0.05", *words], source)
        return code, text.getvalue()

    def source(self):
        source = Ticking(Job(ranks=8, slow=3))
        source.time += 10
        return source

    def test_json(self):
        code, said = self.said(self.source(), "--json")
        (job,) = json.loads(said)["jobs"]
        self.assertEqual(code, 0)
        self.assertEqual((job["ranks"], job["running"], job["slowest"]), (8, 8, 3))
        self.assertEqual(job["messages_per_second"], 8 * 6 * 200)
        self.assertEqual(job["bytes_per_second"], 8 * 6 * 200 * 8192)
        self.assertEqual(job["total_messages"], 12 * 8 * 6 * 200)
        self.assertEqual(job["now"], {"MPI_Waitall": 7, "computing": 1})
        self.assertEqual(next(iter(job["functions"])), "MPI_Waitall")

    def test_text(self):
        code, said = self.said(self.source())
        self.assertEqual(code, 0)
        self.assertIn("rank 3", said)
        self.assertIn("MPI_Waitall: 7", said)
        self.assertLessEqual(max(map(len, said.splitlines())), 100)

    def test_no_job(self):
        code, said = self.said(Nothing())
        self.assertEqual(code, 1)
        self.assertIn("No job of yours", said)
        self.assertIn("version 9", said)

    def test_numbers(self):
        self.assertEqual([top.short(value) for value in (0, 999, 1234, 12e9)], ["0", "999", "1.2 k", "12.0 G"])


if __name__ == "__main__":
    unittest.main()
