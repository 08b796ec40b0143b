"""Other users of the host, and strangers at a port: attacks on `top`, the monitor and its collectors."""

import contextlib
import http.client
import io
import json
import os
import resource
import socket
import sqlite3
import threading
import time
import unittest
import unittest.mock
import urllib.parse
import urllib.request
from pathlib import Path

import support
from headrace import counters
from headrace.counters import page as page_form
from headrace.monitor import export, sealed, top
from headrace.monitor import pages as subject
from headrace.monitor.answers import ANSWERS, Place, answer
from headrace.monitor.history import History, Unreadable, check, connect
from headrace.monitor.limits import Seldom
from headrace.monitor.recorded import record
from headrace.monitor.synthetic import Job
from support import STRANGER, as_user, fetch
from test_pages import Maker

VICTIM = STRANGER + 1
NAME = "headrace.headrace_1_1.counters."
ROOT_ALONE = unittest.skipIf(support.NOT_ROOT, support.NOT_ROOT)


def deep(maker):
    """A page whose text nests."""
    return with_text(maker, b"[" * 40_000)


def with_text(maker, text):
    memory = bytearray(maker.bytes())
    head = list(page_form.HEAD.unpack_from(memory))
    memory = memory[:head[4]] + text
    head[3], head[5] = len(memory), len(text)
    page_form.HEAD.pack_into(memory, 0, *head)
    return bytes(memory)


def lies(maker):
    """Pages with impossible descriptions of themselves."""
    said = json.loads(bytes(maker.bytes())[maker.description()[2]:].rstrip(b"\0"))

    def changed(change):
        new = json.loads(json.dumps(said))
        change(new)
        return with_text(maker, json.dumps(new).encode())

    first = lambda new: new["counters"][0]  # noqa: E731
    peers = lambda new: new["dimensions"]["peer"]  # noqa: E731
    for change in (
            lambda new: new["about"].update(pid="self/../../../tmp/fifo"), lambda new: new["about"].update(rank=-1),
            lambda new: new["about"].update(rank=1e300), lambda new: new["about"].update(job=["headrace_1_1"]), lambda new: new["about"].update(size=True),
            lambda new: first(new).update(at=-8), lambda new: first(new).update(at=1 << 60), lambda new: first(new).update(at=8.0),
            lambda new: first(new).update(stride=0), lambda new: first(new).update(dimension="none"), lambda new: first(new).update(name="\x1b[2J"),
            lambda new: first(new).update(rest={"place": 0, "of": first(new)["name"]}), lambda new: first(new).update(rest={"place": 9, "of": "wait.time"}),
            lambda new: peers(new).update(length=1 << 50), lambda new: peers(new).update(length=-1), lambda new: peers(new).update(others={"-1": "x"}),
            lambda new: peers(new).update(others=["x"]), lambda new: new["dimensions"]["function"].update(labels=[["x"]] * 4),
            lambda new: new.update(counters=new["counters"] * 3), lambda new: new.update(counters={}), lambda new: new.update(dimensions=[])):
        yield changed(change)
    yield deep(maker)
    yield with_text(maker, b"9" * 5000)
    yield with_text(maker, b"\xff" * 100)
    yield with_text(maker, b"{}")


class Lies(support.Scratch):
    def test_a_page_that_lies_gets_a_sentence(self):
        for number, data in enumerate(lies(Maker())):
            with self.assertRaises(counters.Problem, msg=number) as said:
                counters.Page(data, "this page")
            self.assertTrue(str(said.exception).startswith("this page: ") and str(said.exception).isprintable() and len(str(said.exception)) < 300)

    def test_figures_that_cannot_be_keep_nothing_else_from_the_history(self):
        honest, liars = Maker(job="headrace_2_2", rank=99), [Maker(job="headrace_3_3", rank=rank) for rank in range(40)]
        honest.values = {"function.calls": [0, 5, 0, 0]}
        liars[0].values = {"peer.messages": [(1 << 64) - 1, 0, 0], "peer.process": [1, 0, 0]}
        for liar in liars[1:]:  # each page is valid, but not all of them together
            liar.values = {"function.calls": [0, 1 << 58, 0, 0]}
        source = subject.Pages([honest.page(), *(liar.page() for liar in liars)])
        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        sweep = source.sweep(True)
        history.write(sweep, {})
        self.assertEqual(history.trouble, "")
        with contextlib.closing(connect(history.path)) as db:
            self.assertEqual(db.execute("SELECT sum(calls) FROM ranks JOIN jobs ON jobs.id = job WHERE key = 'headrace_2_2'").fetchone(), (5,))
            self.assertGreater(db.execute("SELECT sum(calls) FROM ranks").fetchone()[0], 1 << 58)
        self.assertTrue(any("it has counted to" in remark for remark in sweep.remarks))

    def test_a_page_that_is_cut_off_under_its_reader(self):
        file = self.folder / f"{NAME}0"
        file.write_bytes(Maker().bytes())
        (found,) = counters.look(job="headrace_1_1", where=[str(self.folder)]).pages
        self.assertEqual(found.read().state, "running")
        os.truncate(file, 100)
        for what in (found.read, found.raw):
            with self.assertRaisesRegex(counters.Problem, "was cut off: 100 bytes"):
                what()
        source = subject.Pages([found])
        self.assertIn("cut off", source.sweep(True).remarks[0])

    def test_a_saved_file_is_read_page_by_page(self):
        raw = Maker().page().raw()
        file = self.folder / "run.hrc"
        for length in (1 << 40, (1 << 64) - 1, page_form.PAGE_MOST + 1):
            file.write_bytes(b"HRSAVED1" + length.to_bytes(8, "little") + raw)
            self.assertRaisesRegex(counters.Problem, "are the most", counters.load, file)
        with open(file, "wb") as out:
            out.write(b"HRSAVED1" + len(raw).to_bytes(8, "little") + raw)
            out.truncate(1 << 33)
        self.assertRaisesRegex(counters.Problem, "cut off after 1 page", counters.load, file)
        os.mkfifo(self.folder / "fifo.hrc")
        self.assertRaisesRegex(OSError, "a FIFO", counters.load, self.folder / "fifo.hrc")


@ROOT_ALONE
class Pages(support.Scratch):
    """A directory that all users can write to, like /dev/shm."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o1777)

    def put(self, name, data=b"", owner=STRANGER, mode=0o644):
        path = self.folder / f"{NAME}{name}"
        path.write_bytes(data)
        os.chown(path, owner, owner)
        path.chmod(mode)
        return path

    @staticmethod
    def alive(**about):
        """A page of this process."""
        return Maker(pid_started=int(Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]), **about)

    def attack(self):
        """Creates the files that a stranger leaves in the directory; that of rank 0 belongs to the victim."""
        self.put(0, self.alive().bytes(), VICTIM, 0o600)
        os.mkfifo(self.folder / f"{NAME}1", 0o666)
        self.put(2, deep(Maker(rank=2)))
        os.truncate(self.put(3, Maker(rank=3).bytes()), 1 << 30)
        (self.folder / f"{NAME}4").symlink_to("/dev/zero")
        (self.folder / f"{NAME}5").symlink_to(self.put(6, self.alive(rank=6).bytes()))
        os.link(self.folder / f"{NAME}0", self.folder / f"{NAME}7")
        (self.folder / f"{NAME}8").mkdir()
        self.put(9, Maker(rank=1, job="headrace_9_9").bytes(), VICTIM, 0o666)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / f"{NAME}10"))

    def look(self, *words):
        """Reads pages as `top` does, with little memory."""
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20),) * 2)
        with unittest.mock.patch.dict(os.environ, {"HEADRACE_SHM_DIR": str(self.folder)}), contextlib.redirect_stdout(io.StringIO()) as said:
            code = top.main(["--once", "--json", "--period", "0.05", *words])
        return [code, json.loads(said.getvalue())]

    def test_only_ones_own_page_is_read(self):
        self.attack()
        os.unlink(self.folder / f"{NAME}7")  # under that name, the page has a second link
        code, said = as_user(VICTIM, self.look)
        self.assertEqual((code, [(job["job"], job["running"] >= 0) for job in said["jobs"]]), (0, [("headrace_1_1", True)]))
        self.assertEqual(said["jobs"][0]["ranks"], 4)
        for word in (f"belongs to user {STRANGER}", "a FIFO", "a link"):
            self.assertTrue(any(word in remark for remark in said["remarks"]), (word, said["remarks"]))

    def test_a_second_name_makes_a_page_nobodys(self):
        self.attack()
        _, said = as_user(VICTIM, self.look)
        self.assertEqual(said["jobs"], [])

    def test_roots_too(self):
        self.attack()
        for path in self.folder.iterdir():
            if path.is_file() and not path.is_symlink() and path.stat().st_uid == VICTIM:
                os.chown(path, 0, 0)
        os.unlink(self.folder / f"{NAME}7")
        self.assertNotIn(f"headrace_1_1@{STRANGER}", [job["job"] for job in as_user(0, self.look)[1]["jobs"]])
        code, said = as_user(0, lambda: self.look("--all-users"))
        mine = {job["job"]: job for job in said["jobs"] if job["job"].startswith("headrace_1_1")}
        self.assertEqual((code, set(mine)), (0, {"headrace_1_1", f"headrace_1_1@{STRANGER}"}))  # both have the same name, but different owners

    def test_nothing_is_looked_for_where_everybody_can_write(self):
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("HEADRACE_SHM_DIR", None)
            self.assertEqual(counters.directories(), [])

    def test_memory_files_of_another_users_processes(self):
        """Root sees them, each as its owner's; changes to them meanwhile produce a remark."""
        ready, done = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setresgid(STRANGER, STRANGER, STRANGER)
                os.setresuid(STRANGER, STRANGER, STRANGER)
                support.libc.prctl(4, 1)
                made, kept = [self.alive(job="headrace_5_5", rank=rank) for rank in range(3)], []
                for rank, data in enumerate((made[0].bytes(), deep(made[1]), made[2].bytes(), b"")):
                    kept.append(os.memfd_create(f"headrace.headrace_5_5.counters.{rank}"))
                    os.write(kept[-1], bytes(data))
                os.truncate(kept[2], 1 << 33)
                kept.append(os.memfd_create("headrace.headrace_5_5.counters.0"))  # twice the same name
                os.mkfifo(self.folder / "headrace.headrace_5_5.counters.9")
                kept.append(os.open(self.folder / "headrace.headrace_5_5.counters.9", os.O_RDWR))
                os.write(ready[1], b"x")
                os.read(done[0], 1)
                os.truncate(kept[0], 10)
                os.write(ready[1], b"x")
                os.read(done[0], 1)
            finally:
                os._exit(0)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, 9)
        os.read(ready[0], 1)
        own = subject.Pages()  # without the switch, root sees only its own pages
        self.addCleanup(own.close)
        self.assertFalse([one for one in own.sweep(True).readings if one.rank.job.startswith("headrace_5_5")])
        source = subject.Pages(everyone=True)
        self.addCleanup(source.close)
        theirs = lambda: [reading for reading in source.sweep(True).readings if reading.rank.job.startswith("headrace_5_5")]  # noqa: E731
        self.assertEqual([(reading.rank.job, reading.rank.rank) for reading in theirs()], [(f"headrace_5_5@{STRANGER}", 0)])
        os.write(done[1], b"x")
        os.read(ready[0], 1)
        sweep = source.sweep(True)
        self.assertEqual([reading for reading in sweep.readings if reading.rank.job.startswith("headrace_5_5")], [])
        self.assertTrue(any("this page of counters was cut off: 10 bytes" in remark for remark in sweep.remarks), sweep.remarks)

    def test_one_user_cannot_crowd_out_another(self):
        for rank in range(40):
            self.put(rank, Maker(rank=rank).bytes())
        (self.folder / "headrace.headrace_9_9.counters.0").write_bytes(Maker(job="headrace_9_9").bytes())
        with unittest.mock.patch("headrace.counters.files._OTHERS_MOST", 8):
            found = counters.look(where=[str(self.folder)], everyone=True)
        here = [page for page in found.pages if page.place.startswith(str(self.folder))]
        self.assertEqual([sum(page.owner == owner for page in here) for owner in (STRANGER, 0)], [8, 1])
        self.assertTrue(any(f"user {STRANGER} has 40 pages" in problem for problem in found.problems), found.problems)


class Files(support.Scratch):
    """Files of the monitor that another user has created first."""

    def test_a_history_of_another_user_is_left_alone(self):
        path = self.folder / "history.sqlite"
        for name in ("history.sqlite", "history.sqlite-wal", "history.sqlite.lock"):
            for make in (lambda file: file.symlink_to(self.folder / "elsewhere"), os.mkfifo):
                make(self.folder / name)
                with self.assertRaises(OSError, msg=name):
                    History(path)
                (self.folder / name).unlink()
        self.assertFalse((self.folder / "elsewhere").exists())
        if not support.NOT_ROOT:
            History(path).close()
            os.chown(path, STRANGER, STRANGER)
            with self.assertRaisesRegex(OSError, f"belongs to user {STRANGER}"):
                History(path)
        os.mkfifo(self.folder / "fifo")
        with self.assertRaisesRegex(Unreadable, "a FIFO"):
            connect(self.folder / "fifo")


class Statements(support.Scratch):
    """--sql can only read."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "run.sqlite"
        record(self.path, Job(ranks=2, seconds=5), 5)
        self.say("SELECT 1")  # readers leave files next to it
        self.before = self.files()

    def files(self):
        return {path.name: path.stat().st_size for path in self.folder.iterdir()}

    def say(self, sql, form="table"):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as problems:
            code = export.main(["--form", form, "--sql", sql, str(self.path)])
        return code, out.getvalue(), problems.getvalue()

    def test_what_writes_is_refused(self):
        out = self.folder / "out"
        for sql in (f"ATTACH '{out}' AS x", f"ATTACH 'file:{out}?mode=rwc' AS x", f"VACUUM INTO '{out}'", "VACUUM", "CREATE TEMP TABLE x(y)",
                    "PRAGMA query_only = OFF", "PRAGMA journal_mode = DELETE", "PRAGMA writable_schema = ON", "PRAGMA temp_store_directory = '/tmp'",
                    "SELECT load_extension('/tmp/x.so')", "DELETE FROM jobs", "DROP VIEW timeline", "CREATE TRIGGER t AFTER INSERT ON jobs BEGIN SELECT 1; END",
                    "BEGIN", "REINDEX", "ANALYZE", "DETACH temp", "SAVEPOINT x", "ALTER TABLE jobs RENAME TO x",
                    "CREATE VIRTUAL TABLE temp.x USING fts5(y)", "INSERT INTO meta VALUES ('x', 1)", "WITH x AS (SELECT 1) DELETE FROM jobs"):
            code, said, problems = self.say(sql)
            self.assertEqual((code, said), (2, ""), sql)
            self.assertIn("SQLite says", problems, sql)
        self.assertEqual(self.files(), self.before)

    def test_what_reads_goes_on(self):
        for sql, there in (("PRAGMA table_info(jobs)", "program"), ("SELECT name FROM pragma_table_info('ranks')", "sent_bytes"),
                           ("SELECT count(*) FROM sqlite_master", ""), ("EXPLAIN QUERY PLAN SELECT * FROM jobs", "jobs"), ("SELECT count(*) FROM timeline", ""),
                           ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT sum(x) FROM n", "15"),
                           ("SELECT json_group_array(rank), upper(host) FROM ranks", "SYNTHETIC"),
                           ("SELECT sum(value) AS s FROM json_each('[3, 4]')", "7")):
            code, said, problems = self.say(sql)
            self.assertEqual((code, problems), (0, ""), sql)
            self.assertIn(there, said)

    def test_bytes_and_odd_numbers_are_json(self):
        code, said, _ = self.say("SELECT x'00ff' AS a, 9e999 AS b", "json")
        self.assertEqual((code, json.loads(said)), (0, {"a": "00ff", "b": None}))


# Stands in for a table: endless, or with the named content.
WITHOUT_END = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n WHERE x < 0"


class Runs(support.Scratch):
    """Runs that another user has saved."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "run.hrrun"
        record(self.path, Job(ranks=3, seconds=5), 5)
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.execute("PRAGMA journal_mode = DELETE")

    def change(self, *statements):
        """Returns the run changed by these statements, in another file."""
        made = self.folder / "changed.hrrun"
        made.write_bytes(self.path.read_bytes())
        with contextlib.closing(sqlite3.connect(made, isolation_level=None)) as db:
            db.execute("PRAGMA writable_schema = ON")
            for statement in statements:
                db.execute(statement)
        return made

    def instead(self, table):
        """Puts an endless view in place of a table."""
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        what = WITHOUT_END.format(", ".join(f"x AS {name}" for name in names))
        return [f"DROP TABLE {table}", f"CREATE VIEW {table} AS {what}"]


class Saved(Runs):
    def test_a_run_as_it_was_saved_is_taken(self):
        check(self.path, 30)
        check(self.change("DROP TABLE marks"), 30)  # like a file from before marks were stored

    def test_tables_that_are_none(self):
        for table in ("meta", "jobs", "ranks", "names", "totals", "machine", "marks"):
            with self.assertRaisesRegex(Unreadable, f"no table {table}", msg=table):
                connect(self.change(*self.instead(table)), 20)
        for statements, sentence in (
                (["CREATE TRIGGER t AFTER INSERT ON jobs BEGIN SELECT 1; END"], "triggers"), ([f"CREATE TABLE t{i}(x)" for i in range(300)], "more tables"),
                (["DROP TABLE machine", "CREATE VIRTUAL TABLE machine USING fts5(time, host, what, value)"], "not a plain table"),
                (["ALTER TABLE ranks ADD COLUMN x INTEGER"], "other columns"),
                (["ALTER TABLE jobs DROP COLUMN program", "ALTER TABLE jobs ADD COLUMN program TEXT GENERATED ALWAYS AS (zeroblob(1000000000)) VIRTUAL"], "other columns")):
            with self.assertRaisesRegex(Unreadable, sentence):
                connect(self.change(*statements), 20)

    def test_values_that_no_monitor_writes(self):
        for statement in ("UPDATE ranks SET host = x'00'", "UPDATE ranks SET sent = 'many'", "UPDATE jobs SET began = 9e999", "UPDATE jobs SET seen = NULL",
                          "UPDATE jobs SET key = replace(hex(zeroblob(5000)), '00', 'x')", "UPDATE points SET mean = 'x'", "UPDATE machine SET value = 1e300",
                          "UPDATE ranks SET calls = 9223372036854775807", "UPDATE totals SET count = 'x'", "UPDATE spans SET ended = -9e999"):
            with self.assertRaisesRegex(Unreadable, "no monitor has written", msg=statement):
                check(self.change(statement), 30)

    def test_pages_of_the_file_that_are_used_twice(self):
        made = self.change("UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'names') WHERE name = 'kinds'")
        with self.assertRaises(Unreadable):
            check(made, 30)

    def test_an_index_that_differs_from_its_table(self):
        made = self.change("UPDATE sqlite_master SET sql = 'CREATE INDEX spans_by_time ON spans(job, what, ended)' WHERE name = 'spans_by_time'")
        with self.assertRaisesRegex(Unreadable, "spans_by_time"):
            check(made, 30)

    def test_a_value_longer_than_any_is_not_read(self):
        made = self.change("UPDATE jobs SET program = replace(hex(zeroblob(3000000)), '00', 'x')")
        with self.assertRaisesRegex(Unreadable, "too big"):
            check(made, 30)

    def test_views_of_the_file_are_not_asked(self):
        made = self.change("DROP VIEW named_totals", f"CREATE VIEW named_totals AS {WITHOUT_END.format('x AS job, x AS kind, x AS rank, x AS name, x AS count, x AS bytes, x AS ns')}",
                           "DROP VIEW timeline", f"CREATE VIEW timeline AS {WITHOUT_END.format('x AS job')}")
        with contextlib.closing(export.open_for_questions(made)) as db:
            db.limit(10)
            self.assertGreater(db.execute("SELECT count(*) FROM named_totals").fetchone()[0], 0)
            self.assertGreater(db.execute("SELECT count(*) FROM timeline").fetchone()[0], 0)

    def test_a_question_ends_in_its_time(self):
        with contextlib.closing(connect(self.path, 0.3)) as db:
            begin = time.monotonic()
            with self.assertRaises(sqlite3.OperationalError) as said:
                db.execute(WITHOUT_END.format("x")).fetchall()
            self.assertIsInstance(db.ended(said.exception), sealed.Late)
            self.assertLess(time.monotonic() - begin, 5)

    def test_a_question_ends_with_the_monitor(self):
        place, problems = Place(self.path), []

        def ask():
            try:
                answer(place, "slow", {})
            except sqlite3.OperationalError as error:
                problems.append(str(error))
        asked = threading.Event()
        slow = lambda db, _: (asked.set(), db.execute(WITHOUT_END.format("x")).fetchall())  # noqa: E731
        with unittest.mock.patch.dict("headrace.monitor.answers.ANSWERS", {"slow": slow}):
            asking = threading.Thread(target=ask)
            asking.start()
            asked.wait(10)
            place.ending.set()
            asking.join(10)
        self.assertEqual((asking.is_alive(), problems), (False, ["the monitor ends"]))


@support.SERVER
class Times(support.Scratch):
    """Time limits of a server in this process, set by the test."""

    def setUp(self):
        super().setUp()
        record(self.folder / "run.sqlite", Job(ranks=3, seconds=5), 5)

    def ends(self, connection, seconds=10):
        connection.settimeout(seconds)
        with contextlib.suppress(ConnectionError):
            while connection.recv(1 << 16):
                pass

    def test_a_request_has_to_be_whole_in_time(self):
        right = f"GET /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {support.TOKEN}\r\n".encode()
        with unittest.mock.patch("headrace.monitor.door._REQUEST_SECONDS", 0.5), support.serving(Place(self.folder / "run.sqlite")) as address:
            port = urllib.parse.urlsplit(address).port
            for said in (b"", b"GET /", right, right + b"\r\nGET /api/", b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", port), timeout=10) as made:
                    made.sendall(said)
                    self.ends(made)
            with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:  # an occasional letter does not extend its time
                begin = time.monotonic()
                with contextlib.suppress(ConnectionError):
                    while time.monotonic() - begin < 10:
                        slow.sendall(b"X")
                        slow.settimeout(0.05)
                        with contextlib.suppress(TimeoutError):
                            if not slow.recv(1):
                                break
                self.assertLess(time.monotonic() - begin, 9)

    def test_the_token_makes_a_connection_stay(self):
        with unittest.mock.patch("headrace.monitor.door._STRANGERS_MOST", 4), support.serving(Place(self.folder / "run.sqlite")) as address, \
                contextlib.ExitStack() as stack:
            host = urllib.parse.urlsplit(address).netloc
            mine = http.client.HTTPConnection(host, timeout=10)
            stack.callback(mine.close)
            ask = lambda: (mine.request("GET", "/api/jobs", headers={"Authorization": f"Bearer {support.TOKEN}"}), mine.getresponse().read())  # noqa: E731
            ask()
            before = mine.sock.getsockname()
            others = [stack.enter_context(socket.create_connection(mine.sock.getpeername(), timeout=10)) for _ in range(20)]
            self.ends(others[0])  # the oldest has made room
            ask()
            self.assertEqual(mine.sock.getsockname(), before)


@support.SERVER
class Questions(support.Scratch):
    def test_numbers_out_of_all_ranges_are_400(self):
        record(self.folder / "run.sqlite", Job(ranks=3, seconds=5), 5)
        numbers = ("1e300", "-1e300", "1e12", "-1e12", "nan", "inf", "-inf", "1e999", "0x10", "1" * 400, "9" * 4000, "x", "%00", "%ff", "\u0663e300")
        with support.serving(Place(self.folder / "run.sqlite")) as address:
            for name in ANSWERS:
                if name in ("jobs", "held"):  # these have no range
                    continue
                more = "&kind=call" if name == "counters" else ""
                for parameter in ("from", "to"):
                    for number in numbers:
                        status, said = fetch(f"{address}/api/{name}?{parameter}={urllib.parse.quote(number, safe='%')}{more}")
                        self.assertEqual(status, 400, (name, parameter, number, said[:200]))
                        self.assertIn("is not", json.loads(said)["problem"])
                for number in ("0", "1e10", "-5", "100000000000"):
                    self.assertEqual(fetch(f"{address}/api/{name}?from={number}{more}")[0], 200, (name, number))
                if name not in ("machine", "nodes", "links", "users", "gpus", "inside", "sums"):  # these are about hosts
                    for ranks in ("-1", "1e300", "0-1e9", "5-2", "9" * 3000, "0-1048576", ",".join(["0-1048575"] * 20), "-", "\u0663-"):
                        status = fetch(f"{address}/api/{name}?ranks={urllib.parse.quote(ranks)}{more}")[0]
                        self.assertEqual(status, 400, (name, ranks[:40]))
                    for job in ("1e300", "-1", "9" * 400, "%00", "1;drop"):
                        self.assertEqual(fetch(f"{address}/api/{name}?job={job}{more}")[0], 400, (name, job))

    def test_a_history_that_holds_something_else_is_no_500(self):
        path = self.folder / "run.sqlite"
        record(path, Job(ranks=3, seconds=5), 5)
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("UPDATE jobs SET began = 9e999, seen = 'x'")
            db.execute("UPDATE ranks SET sent = x'00', host = x'00'")
            db.execute("UPDATE points SET messages = 'x'")
            db.commit()
        with support.serving(Place(path)) as address:
            for name in ("jobs", "ranks", "timeline"):
                status, said = fetch(f"{address}/api/{name}")
                self.assertEqual(status, 503, (name, said))
                self.assertIn("no monitor has written", json.loads(said)["problem"])


class Lines(unittest.TestCase):
    def test_the_first_is_said_and_the_others_are_counted(self):
        said = []
        seldom = Seldom(said.append, 60)
        with unittest.mock.patch("headrace.monitor.limits.time.monotonic") as clock:
            for now in (100.0, 101.0, 102.0, 161.0, 162.0):
                clock.return_value = now
                seldom("no")
        self.assertEqual(said, ["no", "no (2 more such since the last that was said)"])


if __name__ == "__main__":
    unittest.main()
