"""Alerts: rules and their errors, when they hold, deliveries through a command and a webhook, lost deliveries."""

import http.server
import json
import os
import threading
import unittest

import support
from headrace.monitor import alerts
from headrace.monitor.alerts import Alerts, Rule, Rules, Wrong
from headrace.monitor.collector import Collector
from headrace.monitor.model import Brief, Rank, Reading, Reporter, Sweep
from headrace.monitor.synthetic import Job, Synthetic


def sweep(time, waits, calls=0):
    """Returns a sweep with one rank for each share of waiting since the last second."""
    return Sweep(time, [Reading(Rank("j", rank, len(waits), 1, "h", "p", 0.0), Brief(calls=calls, wait_ns=int(wait * 1e9))) for rank, wait in enumerate(waits)])


class Holding(unittest.TestCase):
    def made(self, *rules):
        self.told = []
        found = Alerts(Rules(list(rules)), lambda _, event: self.told.append(event) or "")
        return found

    def events(self, made):
        made._queue.join()
        return [(event["state"], event["subject"]) for event in self.told]

    def test_a_rank_that_waits_is_told_once_and_when_it_ends(self):
        made = self.made(Rule("waiting", "rank.wait", 0.5, 2))
        for second, wait in enumerate((0, 0.9, 1.8, 2.7, 3.6, 3.7, 3.8)):
            made.look(sweep(100.0 + second, [wait, 0]), {})
        self.assertEqual(self.events(made), [("begins", "rank 0 of job j"), ("ends", "rank 0 of job j")])
        self.assertEqual(self.told[0]["text"], "waiting: rank 0 of job j waits 90% of its time")

    def test_a_job_without_progress(self):
        made = self.made(Rule("stuck", "job.idle", 5))
        for second in range(8):
            made.look(sweep(100.0 + second, [0], calls=min(second, 1)), {})
        self.assertEqual(self.events(made), [("begins", "job j")])
        made.look(Sweep(110.0), {})  # the rank has ended
        self.assertEqual(self.events(made)[-1], ("ends", "job j"))

    def test_ranks_that_die_and_reports_of_the_checker(self):
        made = self.made(Rule("dead", "rank.died", 0), Rule("checked", "job.reports", 2))
        source = Synthetic(Job(ranks=4, seconds=10, died=(2,), reports=("a leak", "a race")))
        for second, details in ((5, False), (6, True), (7, False), (10, True)):
            source.time = source.jobs[0].began + second
            made.look(source.sweep(details), {})
        self.assertEqual(self.events(made), [("begins", "job synthetic-1"), ("begins", "rank 2 of job synthetic-1")])
        self.assertEqual([event["text"] for event in self.told], ["checked: job synthetic-1 has 6 reports of the checker", "dead: rank 2 of job synthetic-1 has ended without MPI_Finalize"])
        made.look(Sweep(source.time + 1), {})
        self.assertEqual({state for state, _ in self.events(made)[2:]}, {"ends"})

    def test_figures_of_hosts(self):
        made = self.made(Rule("errors", "link.errors", 0), Rule("down", "link.down", 0), Rule("hot", "gpu.throttled", 0), Rule("silent", "host.silent", 0), Rule("busy", "host.cpu", 0.9))
        made.look(Sweep(100.0, reporters=[Reporter("n2", "a", False, 60.0, 4, "gone"), Reporter("n3", "a", True, 60.0, 4)]),
                  {"n1": {"link.infiniband.mlx5_0:1.errors": 3.0, "link.infiniband.mlx5_1:1.errors": 0.0, "link.ethernet.eth0.1.up": 0.0, "gpu.2.throttled": 1.0, "cpu.busy": 0.5}})
        self.assertEqual({subject for _, subject in self.events(made)}, {"link mlx5_0:1 of n1", "link eth0.1 of n1", "GPU 2 of n1", "host n2"})
        self.assertEqual(len(made.remarks()), 4)

    def test_too_many(self):
        block = threading.Event()
        made = Alerts(Rules([Rule("x", "rank.wait", 0.5)]), lambda *_: block.wait(20) and "")
        self.addCleanup(block.set)
        made.look(sweep(100.0, [0] * 3000), {})
        made.look(sweep(101.0, [1] * 3000), {})
        self.assertLessEqual(len(made._told), 2000)
        self.assertTrue(any("were not delivered" in remark for remark in made.remarks()), made.remarks())

    def test_the_page_shows_them(self):
        source = Synthetic(Job(ranks=4, slow=0))
        collector = Collector(source, None, alerts=self.made(Rule("waiting", "rank.wait", 0.1)))
        for _ in range(3):
            source.time += 1
            collector.round()
        self.assertIn("alert: waiting: rank 1 of job synthetic-1", collector.state.remarks[0])


class Delivered(support.Scratch):
    EVENT = {"rule": "r", "text": "r: link x has 3 errors a second"}

    def test_by_a_command(self):
        out = self.folder / "out"
        rules = Rules(command=["sh", "-c", f"cat > {out}; echo \"$HEADRACE_ALERT\" >> {out}"])
        self.assertEqual(alerts.deliver(rules, self.EVENT), "")
        first, second = out.read_text().split("}", 1)
        self.assertEqual(json.loads(first + "}"), self.EVENT)
        self.assertEqual(second.strip(), self.EVENT["text"])
        self.assertEqual(alerts.deliver(Rules(command=["false"]), self.EVENT), "false ended with 1")
        self.assertIn("FileNotFoundError", alerts.deliver(Rules(command=["/no/such"]), self.EVENT))

    def test_by_a_web_hook(self):
        got = []

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(302 if self.path == "/away" else 204)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()

            def log_message(self, *_):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(lambda: (server.shutdown(), server.server_close()))
        address = f"http://127.0.0.1:{server.server_port}"
        self.assertEqual(alerts.deliver(Rules(webhook=address), self.EVENT), "")
        self.assertEqual(got, [self.EVENT])
        self.assertIn("302", alerts.deliver(Rules(webhook=f"{address}/away"), self.EVENT))
        self.assertIn("web hook", alerts.deliver(Rules(webhook="http://127.0.0.1:1/"), self.EVENT))


class Files(support.Scratch):
    def read(self, text, mode=0o600):
        path = self.folder / "alerts.json"
        path.write_text(text)
        path.chmod(mode)
        return alerts.read(path)

    def test_a_file(self):
        found = self.read('{"rules": [{"name": "w", "when": "rank.wait", "above": 0.9, "for": 60}, {"when": "link.errors"}], "command": ["true"]}')
        self.assertEqual(found.rules, [Rule("w", "rank.wait", 0.9, 60.0), Rule("link.errors", "link.errors", 0.0)])

    def test_wrong_ones(self):
        for text, why in (("[", "is not JSON"), ("[]", "object with rules"), ('{"rules": []}', "list of 1 to"), ('{"rules": [{"when": "moon"}]}', "when is one of rank.wait"),
                          ('{"rules": [{"when": "rank.wait", "above": "x"}]}', "above is a number"), ('{"rules": [{"when": "rank.wait", "about": 1}]}', "rule 1 is an object"),
                          ('{"rules": [{"when": "rank.wait"}], "command": "mail"}', "list of words"), ('{"rules": [{"when": "rank.wait"}], "webhook": "file:///x"}', "begins with http"),
                          ("[" * 100_000, "is not JSON")):
            with self.assertRaisesRegex(Wrong, why):
                self.read(text)
        with self.assertRaisesRegex(Wrong, "others can change"):
            self.read("{}", 0o666)
        if not support.NOT_ROOT:
            path = self.folder / "alerts.json"
            path.chmod(0o600)
            os.chown(path, support.STRANGER, -1)
            with self.assertRaisesRegex(OSError, "belongs to user"):
                alerts.read(path)


if __name__ == "__main__":
    unittest.main()
