"""`headrace monitor export`: answers to SQL in three formats, Parquet, and errors for wrong questions."""

import contextlib
import csv
import importlib.util
import io
import json
import sqlite3
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import support
from headrace.monitor import export
from headrace.monitor.history import History, connect
from headrace.monitor.recorded import record
from headrace.monitor.save import save
from headrace.monitor.synthetic import Job

PYARROW = support.needs("pyarrow", importlib.util.find_spec("pyarrow"))


class Export(support.Scratch):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="hr-monitor-")
        cls.addClassCleanup(made.cleanup)
        cls.path = Path(made.name) / "run.sqlite"
        record(cls.path, Job(ranks=6, seconds=90), 90)
        record(cls.path, Job(key="another", ranks=2, seconds=20, began=1_770_000_000.0), 20)
        cls.db = connect(cls.path)
        cls.addClassCleanup(cls.db.close)

    def say(self, *words, file=None):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as problems:
            code = export.main([*words, str(file or self.path)])
        return code, out.getvalue(), problems.getvalue()

    def test_sql_in_each_form(self):
        sql = "SELECT name, sum(count) AS n FROM named_totals WHERE kind = 'call' AND job = 'another' GROUP BY name ORDER BY name"
        truth = self.db.execute(sql).fetchall()
        self.assertEqual([tuple(json.loads(line).values()) for line in self.say("--sql", sql, "--form", "json")[1].splitlines()], truth)
        rows = list(csv.reader(io.StringIO(self.say("--sql", sql, "--form", "csv")[1])))
        self.assertEqual(rows, [["name", "n"], *([name, str(count)] for name, count in truth)])
        lines = self.say("--sql", sql)[1].splitlines()
        self.assertEqual([line.split() for line in lines], rows)

    def test_every_view_has_the_sums_of_the_run(self):
        for sql, same in (("SELECT sum(sent_bytes) FROM rank_samples WHERE job = 'synthetic-1'", "SELECT sum(sent_bytes) FROM ranks WHERE job = 1"),
                          ("SELECT sum(bytes) FROM named_changes WHERE kind = 'sent_to'", "SELECT sum(sent_bytes) FROM ranks"),
                          ("SELECT sum(messages) FROM timeline", "SELECT sum(sent) FROM ranks"),
                          ("SELECT count(*) FROM host_figures", "SELECT count(*) FROM machine"),
                          ("SELECT count(DISTINCT rank) FROM phase_marks WHERE job = 'synthetic-1'", "SELECT 6")):
            self.assertEqual(self.say("--sql", sql, "--form", "csv")[1].splitlines()[1], str(self.db.execute(same).fetchone()[0]), sql)

    def test_wrong_questions_get_a_sentence(self):
        for sql in ("SELECT nothing FROM jobs", "DELETE FROM jobs", "SELECT 1; SELECT 2", "UPDATE jobs SET size = 1", ""):
            code, out, problems = self.say("--sql", sql)
            if sql:
                self.assertEqual((code, out), (2, ""), sql)
                self.assertIn("SQLite says", problems)
        self.assertEqual(self.db.execute("SELECT count(*) FROM jobs").fetchone(), (2,))
        self.assertIn("is not there", self.say("--sql", "SELECT 1", file=self.folder / "missing")[2])
        (self.folder / "text").write_text("hello\n" * 500)
        self.assertIn("is not a history", self.say("--sql", "SELECT 1", file=self.folder / "text")[2])

    def test_names_of_others_are_printable(self):
        self.assertNotIn("\x1b", self.say("--sql", "SELECT char(27) || '[2J' AS x")[1])

    def test_a_run_from_before_marks_were_kept(self):
        old = self.folder / "old.hrrun"
        save(self.path, old, "another")
        with contextlib.closing(sqlite3.connect(old)) as db:
            for name in ("rank_samples", "named_changes", "timeline", "phase_marks", "host_figures"):
                db.execute(f"DROP VIEW {name}")
            db.execute("DROP TABLE marks")
            db.commit()
        self.assertEqual(self.say("--sql", "SELECT count(*) AS n FROM phase_marks", file=old)[1].split(), ["n", "0"])
        again = self.folder / "again.hrrun"
        save(old, again)
        self.assertEqual(self.say("--sql", "SELECT sum(messages) > 0 AS n FROM timeline", file=again)[1].split(), ["n", "1"])
        history = History(old)  # and a run that continues
        self.assertEqual(history.remarks, [])
        history.close()

    def test_without_pyarrow(self):
        with unittest.mock.patch.dict(sys.modules, {"pyarrow": None}):
            code, out, problems = self.say("--parquet", str(self.folder / "out"))
        self.assertEqual((code, out), (2, ""))
        self.assertIn("pip install 'headrace[parquet]'", problems)

    @PYARROW
    def test_parquet(self):
        import pyarrow.parquet as parquet
        code, said, problems = self.say("--parquet", str(self.folder / "out"), "--job", "synthetic-1")
        self.assertEqual((code, problems), (0, ""))
        self.assertEqual({path.name for path in (self.folder / "out").iterdir()}, {f"{name}.parquet" for name in export.TABLES})
        self.assertEqual(len(said.splitlines()), len(export.TABLES))
        read = lambda name: parquet.read_table(self.folder / f"out/{name}.parquet")  # noqa: E731
        self.assertEqual(read("ranks").num_rows, 6)
        self.assertEqual(sum(read("rank_samples")["sent_bytes"].to_pylist()), self.db.execute("SELECT sum(sent_bytes) FROM ranks WHERE job = 1").fetchone()[0])
        self.assertEqual(sum(read("counters")["count"].to_pylist()), self.db.execute("SELECT sum(count) FROM totals WHERE job = 1").fetchone()[0])
        (job,) = read("jobs").to_pylist()
        self.assertEqual((job["job"], job["finished"], job["began"].timestamp()), ("synthetic-1", True, 1_760_000_000.0))
        self.assertGreater(read("phase_marks").num_rows, 0)
        self.assertIn("no job 'none'", self.say("--parquet", str(self.folder / "out"), "--job", "none")[2])

    @PYARROW
    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("")
        code, _, problems = self.say("--parquet", str(self.folder / "file"))
        self.assertEqual(code, 2)
        self.assertIn("File exists", problems)


if __name__ == "__main__":
    unittest.main()
