"""Metrics in the OTLP receiver of OpenTelemetry's collector, which is built from the Go module proxy (otlp_receiver): its
decoder, not ours, says what arrived. Needs Go; the modules and the program are kept in .cache."""

import json
import os
import shutil
import socket
import subprocess
import threading
import unittest
import unittest.mock

import support
import test_otlp
from headrace.monitor import metrics, otlp
from headrace.monitor.collector import Collector
from headrace.monitor.synthetic import Job, Synthetic

SOURCE = support.ROOT / "tests/monitor/otlp_receiver"
PROGRAM = support.ROOT / ".cache/otlp_receiver/receiver"
GO = shutil.which("go")


def build():
    """Returns the error of go build; empty if the program is there."""
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([GO, "build", "-mod=readonly", "-o", PROGRAM, "."], cwd=SOURCE, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


class Receiver:
    """The program, on a free port. `accepted`: the lines that it has printed, one for each request."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([PROGRAM, str(self.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address, self.accepted = f"http://127.0.0.1:{self.port}/v1/metrics", []
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError(f"the receiver ended with {self.process.wait(10)}")
        self.thread = threading.Thread(target=lambda: self.accepted.extend(self.process.stdout))
        self.thread.start()

    def close(self):
        """Ends it, after which `accepted` is complete."""
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        code = self.process.wait(30)
        self.thread.join()
        self.process.stdout.close()
        if code:
            raise AssertionError(f"the receiver ended with {code}")

    def metrics(self):
        return [metric for line in self.accepted for resource in json.loads(line)["resourceMetrics"] for scope in resource["scopeMetrics"] for metric in scope["metrics"]]

    def series(self):
        """{(name, labels): value}, as test_otlp has them."""
        found = {}
        for metric in self.metrics():
            (data,) = (value for key, value in metric.items() if key in ("gauge", "sum", "histogram"))
            for point in data["dataPoints"]:
                labels = {each["key"]: int(each["value"]["intValue"]) if "intValue" in each["value"] else each["value"].get("stringValue", "") for each in point.get("attributes", ())}
                value = (tuple(map(int, point["bucketCounts"])), point["sum"]) if "histogram" in metric else point["asDouble"] if "asDouble" in point else int(point["asInt"])
                found[metric["name"], tuple(sorted(labels.items()))] = value
        return found


@test_otlp.OTLP
@unittest.skipUnless(GO, "Go is not here; the receiver is a Go program")
class Receives(support.Scratch):
    @classmethod
    def setUpClass(cls):
        if error := build():
            raise AssertionError(f"go build: {error}")

    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)

    def collector(self, *jobs):
        source = Synthetic(*jobs)
        source.time += 20
        collector = Collector(source, None)
        collector.round()
        return collector

    def send(self, collector, **environment):
        with unittest.mock.patch.dict(os.environ, {"OTEL_METRIC_EXPORT_INTERVAL": "3600000", **environment}):
            sender = otlp.Sender(self.receiver.address, lambda: collector.state)
        self.assertTrue(sender.send())
        sender._failed = 1  # close() sends nothing more
        sender.close()
        self.receiver.close()

    def test_it_gets_what_prometheus_reads(self):
        for compression in ("gzip", "none"):
            with self.subTest(compression=compression):
                self.receiver = Receiver()
                self.addCleanup(self.receiver.close)
                collector = self.collector(Job(ranks=12, slow=3, reports=("leak: a communicator",)))
                self.send(collector, OTEL_EXPORTER_OTLP_COMPRESSION=compression)
                expected = {(family.name, tuple(sorted((name, value if isinstance(value, int) else str(value)) for name, value in point.labels.items()))): point.value
                            for family in metrics.families(collector.state) for point in family.points}
                found = self.receiver.series()
                self.assertEqual(found.keys(), expected.keys())
                for key, value in expected.items():
                    self.assertEqual(found[key], (tuple(value.counts), value.sum) if isinstance(value, metrics.Histogram) else value, key)

    def test_kinds_and_units(self):
        self.send(self.collector(Job(ranks=4)))
        kinds = {metric["name"]: (next(key for key in metric if key in ("gauge", "sum", "histogram")), metric.get("unit", "")) for metric in self.receiver.metrics()}
        self.assertEqual(kinds["headrace_wait_seconds_total"], ("sum", "s"))
        self.assertEqual(kinds["headrace_sent_bytes_total"], ("sum", "By"))
        self.assertEqual(kinds["headrace_posted_receives"], ("gauge", ""))
        self.assertEqual(kinds["headrace_function_duration_seconds"], ("histogram", "s"))
        for metric in self.receiver.metrics():
            for kind in ("sum", "histogram"):
                if kind in metric:
                    self.assertEqual(metric[kind]["aggregationTemporality"], 2, metric["name"])  # cumulative
                    self.assertTrue(all(int(point.get("startTimeUnixNano", 0)) <= int(point["timeUnixNano"]) for point in metric[kind]["dataPoints"]), metric["name"])
            self.assertEqual(metric.get("sum", {}).get("isMonotonic", True), True)

    def test_a_large_job_arrives_in_parts(self):
        collector = self.collector(*(Job(key=f"synthetic-{number}", ranks=1024, slow=3, seed=number) for number in range(4)))
        self.send(collector)
        self.assertGreater(len(self.receiver.accepted), 1)
        points = sum(len(family.points) for family in metrics.families(collector.state))
        self.assertEqual(len(self.receiver.series()), points)

    def test_a_damaged_request_is_refused(self):
        """The receiver decodes: it would not accept anything."""
        request = support.urllib.request.Request(self.receiver.address, data=b"\xff" * 40, headers={"Content-Type": "application/x-protobuf"})
        with self.assertRaises(support.urllib.error.HTTPError) as said:
            support.urllib.request.urlopen(request, timeout=20)
        self.addCleanup(said.exception.close)
        self.assertEqual(said.exception.code, 400)


if __name__ == "__main__":
    unittest.main()
