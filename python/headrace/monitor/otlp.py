"""Sends the metrics by OTLP over HTTP, the protocol of OpenTelemetry: `headrace monitor --otlp [URL]`. Needs `pip install headrace[otlp]`.

The addresses, headers (which may hold a secret), certificates and the interval are those of OpenTelemetry's own environment variables. What
cannot be sent is lost: the next sums include it. Threads: one sends; remarks() may be called by any.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace.monitor.metrics import Family, Histogram, Point, families

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData

    from headrace.monitor.collector import State

EXTRA = "--otlp needs OpenTelemetry's exporter: pip install 'headrace[otlp]'"
_INTERVAL = 60.0  # seconds, OpenTelemetry's default
_BATCH = 10_000  # points of a request


class Wrong(Exception):
    """One sentence: why nothing can be sent."""


def interval(text: str) -> float:
    """Returns the seconds of OTEL_METRIC_EXPORT_INTERVAL, which is in milliseconds. Raises Wrong."""
    try:
        value = float(text) / 1000 if text else _INTERVAL
    except ValueError:
        value = math.nan
    if not 0.1 <= value <= 86_400:
        raise Wrong(f"OTEL_METRIC_EXPORT_INTERVAL={text[:40]}: it is a number of milliseconds, from 100 on")
    return value


def data(found: Iterable[Family], now: float) -> MetricsData:
    """Returns the metrics in OpenTelemetry's form, with the names and labels of Prometheus's."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Gauge, Metric, MetricsData, ResourceMetrics, ScopeMetrics, Sum
    from opentelemetry.sdk.metrics.export import Histogram as Histograms
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    cumulative, metrics = AggregationTemporality.CUMULATIVE, []
    for family in found:
        points = [_point(point, now) for point in family.points]
        if not points:
            continue
        kept = Gauge(points) if family.kind == "gauge" else Sum(points, cumulative, True) if family.kind == "counter" else Histograms(points, cumulative)
        unit = "s" if family.name.removesuffix("_total").endswith("_seconds") else "By" if family.name.removesuffix("_total").endswith("_bytes") else ""
        metrics.append(Metric(family.name, f"{family.sentence}.", unit, kept))
    resource = Resource.create({"service.name": "headrace", "host.name": socket.gethostname()})
    return MetricsData([ResourceMetrics(resource, [ScopeMetrics(InstrumentationScope("headrace.monitor"), metrics, "")], "")])


def _point(point: Point, now: float) -> object:
    from opentelemetry.sdk.metrics.export import HistogramDataPoint, NumberDataPoint

    labels = {name: value if isinstance(value, int) else str(value) for name, value in point.labels.items()}
    began, taken = int(point.began * 1e9), int(now * 1e9)
    if not isinstance(point.value, Histogram):
        return NumberDataPoint(labels, began, taken, point.value)
    return HistogramDataPoint(labels, began, taken, sum(point.value.counts), point.value.sum, point.value.counts, point.value.bounds, math.nan, math.nan)


class Sender:
    """Sends the newest state at intervals. Owner: the monitor, which closes it."""

    def __init__(self, address: str, state: Callable[[], State]):
        """`address`: where to send to; "": OpenTelemetry's environment variables name it. Raises Wrong."""
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        except ModuleNotFoundError:
            raise Wrong(EXTRA) from None
        if address and not address.startswith(("http://", "https://")):
            raise Wrong("--otlp takes an address that begins with http:// or https://, such as http://collector:4318/v1/metrics")
        self._interval = interval(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", ""))
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # remarks() says it instead of a line for each attempt
        self._exporter = OTLPMetricExporter(endpoint=address or None, max_export_batch_size=_BATCH)
        self._state, self._failed, self._stop = state, 0, threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-otlp", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self.send()

    def send(self) -> bool:
        """Sends once, now. False if that failed."""
        from opentelemetry.sdk.metrics.export import MetricExportResult

        state = self._state()
        try:
            done = self._exporter.export(data(families(state), state.time or time.time())) == MetricExportResult.SUCCESS
        except Exception:  # of the exporter or its libraries; the next attempt may succeed
            done = False
        self._failed = 0 if done else self._failed + 1
        return done

    def remarks(self) -> list[str]:
        failed = self._failed
        return [f"the last {failed} attempts to send metrics by OTLP failed" if failed > 1 else "metrics could not be sent by OTLP"] if failed else []

    def close(self) -> None:
        """Sends the last figures, unless the receiver cannot be reached."""
        self._stop.set()
        if not self._failed:
            self.send()
        self._exporter.shutdown()
        self._thread.join()
