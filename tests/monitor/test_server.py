"""The server: token and names, answers against the database, metrics, and that it serves nothing else."""

import hmac
import http.client
import json
import socket
import subprocess
import time
import unittest
import unittest.mock
import urllib.parse

import support
from support import TOKEN, fetch, serving
from headrace.monitor import query
from headrace.monitor.answers import ANSWERS, Place
from headrace.monitor.auth import Gate
from headrace.monitor.collector import Collector
from headrace.monitor.history import History, connect
from headrace.monitor.model import clean
from headrace.monitor.query import Range
from headrace.monitor.recorded import record
from headrace.monitor.synthetic import Job, Synthetic

EVIL = '<img src=x onerror=alert(1)>"\n\\'


@support.SERVER
class Serving(support.Scratch):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "run.sqlite"
        record(self.path, Job(ranks=16, seconds=60), 60)
        self.stack = support.contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.address = self.stack.enter_context(serving(Place(self.path)))

    def get(self, path, **more):
        status, body = fetch(self.address + path, **more)
        return status, json.loads(body)

    def test_without_the_token_nothing_is_said(self):
        for path in ("/", "/api/jobs", "/api/events", "/metrics", "/monitor.js", "/nothing"):
            status, body = fetch(self.address + path, token=None)
            self.assertEqual(status, 403, path)
            self.assertNotIn(b"halo3d", body)

    def test_wrong_tokens_are_answered_ever_later(self):
        times = []
        for _ in range(3):
            begin = time.monotonic()
            self.assertEqual(fetch(self.address + "/api/jobs", token="wrong")[0], 403)
            times.append(time.monotonic() - begin)
        self.assertGreater(times[2], 0.4)
        with unittest.mock.patch.object(Gate, "slow_down", side_effect=AssertionError):  # the right token is not delayed
            self.assertEqual(fetch(self.address + "/api/jobs")[0], 200)

    def test_the_delay_is_bounded(self):
        gate = Gate(TOKEN, 1)
        gate.slower.count = 1000
        self.assertEqual(gate.slower.delay(), 5.0)
        self.assertFalse(gate.right(None) or gate.right("") or gate.right(TOKEN + "x") or gate.right("ä\udc80"))

    def test_tokens_are_compared_in_constant_time(self):
        with unittest.mock.patch("headrace.monitor.auth.hmac.compare_digest", wraps=hmac.compare_digest) as compared:
            for wrong in ("x", TOKEN[:-1] + "x"):
                self.assertFalse(Gate(TOKEN, 1).right(wrong))
                self.assertEqual(compared.call_args.args, (wrong.encode(), TOKEN.encode()))

    def test_the_token_of_the_address_becomes_a_cookie(self):
        host = urllib.parse.urlsplit(self.address).netloc
        connection = http.client.HTTPConnection(host, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", f"/?token={TOKEN}&view=ranks")
        answer = connection.getresponse()
        answer.read()
        self.assertEqual((answer.status, answer.getheader("location")), (303, "/?view=ranks"))
        cookie = answer.getheader("set-cookie")
        self.assertIn("HttpOnly", cookie)
        self.assertIn("samesite=strict", cookie.lower())
        self.assertEqual(fetch(self.address + "/api/jobs", {"Cookie": cookie.split(";")[0]}, token=None)[0], 200)

    def test_actions_are_for_the_page_alone(self):
        """A page from another port of this host would send the cookie along."""
        netloc = urllib.parse.urlsplit(self.address).netloc
        for origin in ("http://127.0.0.1:1", "http://evil.example", "null", ""):
            self.assertEqual(self.get("/api/stack?job=1", method="POST", headers={"Origin": origin}), (403, {"problem": "only the monitor's own page may ask for this"}), origin)
        self.assertEqual(self.get("/api/stack?job=1", method="POST", headers={"Origin": f"http://{netloc}"}), (400, {"problem": "a saved run has no processes whose stacks could be read"}))
        self.assertEqual(self.get("/api/stack?job=1")[0], 405)
        self.assertEqual((self.get("/api/jobs", method="POST")[0], self.get("/api/nothing", method="POST")[0]), (405, 404))
        self.assertEqual(fetch(self.address + "/api/stack?job=1", method="POST", token=None)[0], 403)

    def test_findings_are_those_of_the_doctor(self):
        found = {finding["id"]: finding for finding in self.get("/api/findings")[1]}
        self.assertEqual({name: finding["level"] for name, finding in found.items()}, {"balance.uneven": "warning", "devices.staged": "warning", "placement.gpu": "note", "queues.short": "ok",
                                                                                       "messages.short": "ok", "ranks.there": "ok", "placement.cores": "ok"})
        self.assertIn("(rank 5) to 3", found["balance.uneven"]["evidence"])  # 37 of 16 ranks
        self.assertIn("ranks 0, 8 on synthetic share GPU 0", found["placement.gpu"]["evidence"])
        self.assertIn("16 of 16 ranks of halo3d, 60 s", found["ranks.there"]["evidence"])
        part = {finding["id"]: finding["evidence"] for finding in self.get("/api/findings?from=-20&ranks=0-7")[1]}
        self.assertIn("8 of 16 ranks of halo3d, 20 s", part["ranks.there"])

    def test_other_names_are_refused(self):
        for name in ("evil.example", "evil.example:8642", "127.0.0.1.evil.example", ""):
            self.assertEqual(fetch(self.address + "/api/jobs", {"Host": name})[0], 421, name)
        for name in ("localhost", "localhost:1", "127.0.0.1:9", "[::1]:9", "[::1]"):
            self.assertEqual(fetch(self.address + "/api/jobs", {"Host": name})[0], 200, name)

    def test_answers_are_those_of_the_database(self):
        db = connect(self.path)
        self.addCleanup(db.close)
        self.assertEqual(self.get("/api/jobs"), (200, query.jobs(db)))
        self.assertEqual(self.get("/api/ranks?ranks=2-5")[1], query.ranks(db, Range(1, ranks=frozenset(range(2, 6)))))
        matrix = self.get("/api/matrix?metric=bytes")[1]
        self.assertEqual(sum(matrix["value"]), db.execute("SELECT sum(sent_bytes) FROM ranks").fetchone()[0])
        self.assertEqual(self.get("/api/timeline")[1], query.timeline(db, Range(1)))

    def test_wrong_questions_get_a_sentence(self):
        for path in ("/api/ranks?job=77", "/api/ranks?ranks=a", "/api/matrix?metric=beauty", "/api/counters?kind=secrets", "/api/counters",
                     "/api/timeline?from=yesterday", "/api/timeline?to=nan", "/api/ranks?job=%3Cscript%3E", "/api/ranks?ranks=" + "1," * 5000 + "x"):
            status, said = self.get(path)
            self.assertEqual(status, 200 if path.endswith(",x") else 400, path)
            self.assertTrue(path.endswith(",x") or len(said["problem"]) < 200)
        self.assertEqual(self.get("/api/nothing")[0], 404)
        self.assertEqual(set(ANSWERS), {"jobs", "slowest", "held", "ranks", "matrix", "counters", "timeline", "marks", "machine", "nodes", "links", "users", "gpus", "inside", "findings", "reports", "deaths", "series", "sums"})

    def test_no_other_file_is_served(self):
        for path in ("/../server.py", "/..%2fserver.py", "/server.py", "/assets/index.html", "//etc/passwd"):
            self.assertEqual(fetch(self.address + path)[0], 404, path)
        for path in ("/", "/monitor.js", "/monitor.css"):
            self.assertEqual(fetch(self.address + path)[0], 200, path)

    def test_headers_forbid_what_the_page_does_not_need(self):
        with support.urllib.request.urlopen(support.urllib.request.Request(self.address, headers={"Authorization": f"Bearer {TOKEN}"})) as answer:
            self.assertIn("default-src 'none'", answer.headers["content-security-policy"])
            self.assertEqual(answer.headers["cache-control"], "no-store")
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.address).netloc, timeout=60)
        self.addCleanup(connection.close)
        connection.request("POST", "/api/jobs", headers={"Authorization": f"Bearer {TOKEN}"})
        self.assertEqual(connection.getresponse().status, 405)

    def test_no_job(self):
        History(self.folder / "empty.sqlite").close()
        with serving(Place(self.folder / "empty.sqlite")) as address:
            self.assertEqual(json.loads(fetch(address + "/api/jobs")[1]), [])
            status, said = fetch(address + "/api/ranks")
        self.assertEqual((status, json.loads(said)), (400, {"problem": "there is no job in this history"}))

    def test_a_history_that_vanishes_is_said(self):
        self.path.unlink()
        status, said = self.get("/api/jobs")
        self.assertEqual(status, 503)
        self.assertIn("is not there", said["problem"])


@support.SERVER
class Live(support.Scratch):
    def setUp(self):
        super().setUp()
        source = Synthetic(Job(key=clean(EVIL), program=EVIL.strip(), ranks=4))
        source.time += 30
        history = History(self.folder / "history.sqlite")
        self.addCleanup(history.close)
        self.collector = Collector(source, history, period=0.05)
        self.collector.start()
        self.addCleanup(self.collector.stop)
        self.place = Place(history.path, self.collector)

    def test_events(self):
        with serving(self.place) as address, support.urllib.request.urlopen(
                support.urllib.request.Request(address + "/api/events", headers={"Authorization": f"Bearer {TOKEN}"}), timeout=60) as stream:
            rounds = []
            while len(rounds) < 3:
                line = stream.readline().decode()
                if line.startswith("data: ") and (said := json.loads(line[6:]))["round"]:
                    rounds.append(said["round"])
                    self.assertTrue(said["live"])
            self.assertEqual(rounds, sorted(set(rounds)))

    def test_metrics(self):
        support.wait_for(lambda: self.collector.state.sweep.readings, text="a sweep")
        with serving(self.place) as address:
            text = fetch(address + "/metrics")[1].decode()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        sent = [line for line in lines if line.startswith("headrace_sent_bytes_total{")]
        self.assertEqual(sum(int(line.split()[-1]) for line in sent), 4 * 30 * 200 * 4 * 8192)
        for line in lines:
            self.assertRegex(line, r'^[a-z_]+(\{([a-z_]+="(\\.|[^"\\])*",?)*\})? [-0-9.e+]+$')
        dashboard = json.loads((support.ROOT / "python/headrace/monitor/grafana.json").read_text())
        names = {line.partition("{")[0].partition(" ")[0] for line in lines} | {"headrace_host_cpu", "headrace_host_network_bytes_per_second", "headrace_host_gpu"}
        names |= {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE headrace_link_")}  # this host may have no link
        self.assertTrue({"title", "uid", "schemaVersion", "panels", "templating", "time"} <= dashboard.keys())
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]))
        taken = set()
        for panel in dashboard["panels"]:  # each has Grafana's required fields, and no two share a position
            self.assertTrue({"id", "type", "title", "gridPos", "datasource", "targets"} <= panel.keys(), panel)
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertTrue(at["x"] + at["w"] <= 24 and not cells & taken, panel["title"])
            taken |= cells
            self.assertEqual(len({target["refId"] for target in panel["targets"]}), len(panel["targets"]))
            for target in panel["targets"]:
                self.assertTrue(set(support.re_names(target["expr"])) <= names, target["expr"])

    def test_a_saved_run_has_no_metrics(self):
        with serving(Place(self.place.path)) as address:
            self.assertEqual(fetch(address + "/metrics")[0], 404)


@support.SERVER
class Command(support.Scratch):
    def run_it(self, *words, **more):
        return subprocess.run([support.sys.executable, "-m", "headrace", "monitor", *words], capture_output=True, text=True, timeout=60,
                              cwd=support.ROOT / "python", **more)

    def test_two_on_one_port(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            said = self.run_it("--port", str(port), "--history", str(self.folder / "h.sqlite"))
        self.assertEqual(said.returncode, 2)
        self.assertIn(f"port {port} of 127.0.0.1 is taken", said.stderr)
        self.assertNotIn("Traceback", said.stderr)

    def test_files_that_are_no_run(self):
        (self.folder / "text").write_text("hello\n" * 200)
        for file, sentence in (("missing", "No such file"), ("text", "not a history")):
            said = self.run_it("--open", str(self.folder / file))
            self.assertEqual(said.returncode, 2, said.stderr)
            self.assertIn(sentence, said.stderr)
            self.assertNotIn("Traceback", said.stderr)

    def test_what_the_system_refuses_is_a_sentence(self):
        missing = str(self.folder / "missing")
        for words in (("--open", missing), ("--open", str(self.folder)), ("--port", "0", "--history", str(self.folder / "h.sqlite"), "--token-file", missing),
                      ("--port", "0", "--history", str(self.folder / "h.sqlite"), "--topology", missing),
                      ("--save", str(self.folder / "run"), "--history", "/proc/nowhere/h.sqlite"), ("export", "--sql", "SELECT 1", missing),
                      ("export", "--sql", "SELECT 1", str(self.folder))):
            said = self.run_it(*words)
            self.assertEqual(said.returncode, 2, words)
            self.assertRegex(said.stderr, r"^headrace monitor: [^\n]+\n$")
            self.assertNotIn("Errno", said.stderr)
            self.assertNotIn("headrace monitor: headrace monitor", said.stderr)

    def test_without_what_the_page_needs(self):
        """An empty package of that name hides the installed one."""
        for name in ("starlette", "uvicorn"):
            (self.folder / f"{name}.py").write_text("raise ModuleNotFoundError(__name__)\n")
        said = self.run_it("--port", "0", "--history", str(self.folder / "h.sqlite"), env={**support.os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual((said.returncode, said.stderr), (2, "headrace monitor: the page needs Starlette and uvicorn: pip install 'headrace[monitor]'. "
                                                             "headrace top needs neither.\n"))

    def test_the_command_alone_shows_its_help(self):
        words = [support.sys.executable, "-m", "headrace"]
        alone, asked = (subprocess.run([*words, *more], capture_output=True, text=True, timeout=60, cwd=support.ROOT / "python") for more in ((), ("--help",)))
        self.assertEqual((alone.returncode, alone.stdout, alone.stderr), (0, asked.stdout, ""))
        self.assertIn("headrace COMMAND --help", alone.stdout)

    def test_nothing_to_save(self):
        said = self.run_it("--save", str(self.folder / "run"), "--history", str(self.folder / "h.sqlite"), "--job", "no-such-job")
        self.assertEqual(said.returncode, 2)
        self.assertIn("there is no job", said.stderr)
        self.assertFalse((self.folder / "run").exists())

    def test_a_short_token_is_refused(self):
        (self.folder / "token").write_text("short\n")
        (self.folder / "token").chmod(0o600)
        said = self.run_it("--port", "0", "--token-file", str(self.folder / "token"), "--history", str(self.folder / "h.sqlite"))
        self.assertEqual(said.returncode, 2)
        self.assertIn("at least 16 characters", said.stderr)

    def test_it_ends_when_told(self):
        monitor = subprocess.Popen([support.sys.executable, "-m", "headrace", "monitor", "--port", "0", "--history", str(self.folder / "h.sqlite")],
                                   stdout=subprocess.PIPE, text=True, cwd=support.ROOT / "python")
        address = monitor.stdout.readline().split()[-1]
        parts = urllib.parse.urlsplit(address)
        self.assertEqual(parts.hostname, "127.0.0.1")
        stream = support.urllib.request.urlopen(support.urllib.request.Request(  # an open page does not keep it running
            f"http://{parts.netloc}/api/events", headers={"Authorization": f"Bearer {parts.query.partition('=')[2]}"}), timeout=60)
        monitor.terminate()
        self.assertEqual(monitor.wait(60), 0)
        stream.close()
        monitor.stdout.close()


if __name__ == "__main__":
    unittest.main()
