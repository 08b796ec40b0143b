"""Metrics by OTLP: what a receiver gets, against the same metrics as Prometheus's text; receivers that refuse, vanish, or hang up."""

import gzip
import http.server
import importlib.util
import os
import subprocess
import threading
import unittest
import unittest.mock

import support
from headrace.monitor import metrics, otlp
from headrace.monitor.collector import Collector
from headrace.monitor.synthetic import Job, Synthetic

OTLP = support.needs("OpenTelemetry's exporter", importlib.util.find_spec("opentelemetry") and importlib.util.find_spec("opentelemetry.exporter"))


class Receiver:
    """A server that keeps the requests it gets, and answers with `status`."""

    def __init__(self, status=200):
        self.status, self.requests, owner = status, [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.requests.append((self.path, dict(self.headers), gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body))
                self.send_response(owner.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def series(self):
        """{(name, labels): value} of all requests; a histogram's value is (counts, sum)."""
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        found = {}
        for _, _, body in self.requests:
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                    for point in getattr(metric, metric.WhichOneof("data")).data_points:
                        labels = {each.key: each.value.string_value or each.value.int_value for each in point.attributes}
                        found[metric.name, tuple(sorted(labels.items()))] = (tuple(point.bucket_counts), point.sum) if metric.HasField("histogram") else point.as_double or point.as_int
        return found


@OTLP
class Sends(support.Scratch):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        source = Synthetic(Job(ranks=12, slow=3, reports=("leak: a communicator",)))
        source.time += 20
        self.collector = Collector(source, None)
        self.collector.round()

    def sender(self, address=None, **environment):
        with unittest.mock.patch.dict(os.environ, {"OTEL_METRIC_EXPORT_INTERVAL": "3600000", "OTEL_EXPORTER_OTLP_TIMEOUT": "1", **environment}):
            sender = otlp.Sender(self.receiver.address + "/v1/metrics" if address is None else address, lambda: self.collector.state)
        self.addCleanup(sender.close)
        return sender

    def test_the_receiver_gets_what_prometheus_reads(self):
        self.assertTrue(self.sender().send())
        found = self.receiver.series()
        expected = {(family.name, tuple(sorted((name, value if isinstance(value, int) else str(value)) for name, value in point.labels.items()))): point.value
                    for family in metrics.families(self.collector.state) for point in family.points}
        self.assertEqual(found.keys(), expected.keys())
        for key, value in expected.items():
            wanted = (tuple(value.counts), value.sum) if isinstance(value, metrics.Histogram) else value
            self.assertEqual(found[key], wanted, key)
        self.assertEqual(found["headrace_job_checker_reports_total", (("mpi_job", "synthetic-1"),)], 12)
        self.assertEqual(sum(found["headrace_function_duration_seconds", (("function", "MPI_Waitall"), ("mpi_job", "synthetic-1"))][0]), 12 * 20 * 200)
        self.assertEqual(self.receiver.requests[0][0], "/v1/metrics")

    def test_the_environment_names_the_receiver(self):
        sender = self.sender("", OTEL_EXPORTER_OTLP_ENDPOINT=self.receiver.address, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20secret", OTEL_EXPORTER_OTLP_COMPRESSION="gzip")
        self.assertTrue(sender.send())
        path, headers, _ = self.receiver.requests[0]
        self.assertEqual((path, headers.get("Authorization") or headers.get("authorization"), headers["Content-Encoding"]), ("/v1/metrics", "Bearer secret", "gzip"))
        self.assertIn(("headrace_ranks", (("mpi_job", "synthetic-1"), ("program", "halo3d"))), self.receiver.series())

    def test_at_intervals_and_at_the_end(self):
        sender = self.sender(OTEL_METRIC_EXPORT_INTERVAL="100")
        support.wait_for(lambda: len(self.receiver.requests) >= 2, text="two requests")
        sender.close()
        self.assertFalse(sender._thread.is_alive())

    def test_a_receiver_that_refuses(self):
        self.receiver.status = 400
        sender = self.sender()
        self.assertEqual(sender.remarks(), [])
        self.assertFalse(sender.send())
        self.assertEqual(sender.remarks(), ["metrics could not be sent by OTLP"])
        self.collector.sender = sender
        self.collector.round()
        self.assertIn("metrics could not be sent by OTLP", self.collector.state.remarks)
        self.assertFalse(sender.send())
        self.assertEqual(sender.remarks(), ["the last 2 attempts to send metrics by OTLP failed"])
        self.receiver.status = 200
        self.assertTrue(sender.send())
        self.assertEqual(sender.remarks(), [])

    def test_a_receiver_that_is_not_there(self):
        gone = Receiver()
        gone.close()
        sender = self.sender(gone.address + "/v1/metrics")
        self.assertFalse(sender.send())
        self.assertTrue(sender.remarks())

    def test_wrong_words(self):
        self.assertRaisesRegex(otlp.Wrong, "http://", otlp.Sender, "collector:4318", lambda: self.collector.state)
        for text in ("soon", "0", "nan", "-5"):
            self.assertRaisesRegex(otlp.Wrong, "milliseconds", otlp.interval, text)
        self.assertEqual((otlp.interval(""), otlp.interval("500")), (60, 0.5))


class Without(unittest.TestCase):
    def test_it_says_what_to_install(self):
        with unittest.mock.patch.dict(support.sys.modules, {"opentelemetry": None, "opentelemetry.exporter.otlp.proto.http.metric_exporter": None}):
            self.assertRaisesRegex(otlp.Wrong, r"headrace\[otlp\]", otlp.Sender, "", lambda: None)


@OTLP
@support.SERVER
class Command(support.Scratch):
    def test_a_monitor_sends(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        monitor = subprocess.Popen([support.sys.executable, "-m", "headrace", "monitor", "--port", "0", "--history", str(self.folder / "history.sqlite"), "--otlp", receiver.address + "/v1/metrics"],
                                   cwd=support.ROOT / "python", env={**os.environ, "OTEL_METRIC_EXPORT_INTERVAL": "200"}, stdout=subprocess.PIPE, text=True)
        self.addCleanup(monitor.stdout.close)
        try:
            address = monitor.stdout.readline().split()[-1]
            support.wait_for(lambda: receiver.requests, 60, "a request")
            self.assertTrue(support.fetch(address, token=None)[0])  # it serves, so it ends as usual when it is told to
        finally:
            monitor.terminate()
            self.assertEqual(monitor.wait(30), 0)
        self.assertIn(("headrace_collector_cpu_seconds_total", ()), receiver.series())

    def test_what_it_needs_is_said(self):
        run = lambda *words: subprocess.run([support.sys.executable, "-m", "headrace", "monitor", *words], capture_output=True, text=True, timeout=60, cwd=support.ROOT / "python", check=False)  # noqa: E731
        done = run("--port", "0", "--history", str(self.folder / "history.sqlite"), "--otlp", "collector:4318")
        self.assertEqual(done.returncode, 2)
        self.assertIn("http://", done.stderr)
        self.assertEqual(run("--otlp", "--report-to", "head:1").returncode, 2)


if __name__ == "__main__":
    unittest.main()
