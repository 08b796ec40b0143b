"""Chromium, and the page of the monitor in it."""

import contextlib
import os
import shutil

import support
from support import TOKEN

VIEWS = ("jobs", "job", "ranks", "matrix", "calls", "ways", "timeline", "queues", "collectives", "sizes", "hosts", "compare", "cluster", "links", "gpus")


@contextlib.contextmanager
def chromium(**more):
    """A browser window. Errors in the page's console fail the test."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start under root.
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*arguments, "--disable-dev-shm-usage"], timeout=120_000)
        try:
            yield browser.new_context(viewport={"width": 1200, "height": 820}, **more)
        finally:
            browser.close()


class Page:
    def __init__(self, context, address):
        self.page, self.address = context.new_page(), address
        self.complaints = []
        self.page.set_default_timeout(120_000)
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))

    def open(self, **asked):
        words = "".join(f"&{name}={value}" for name, value in asked.items())
        self.page.goto(f"{self.address}/?token={TOKEN}{words}")
        self.page.wait_for_selector("body[data-drawn]")

    def after(self, act):
        """Calls act() and waits until the page has been drawn for the new address."""
        before = int(self.page.evaluate("document.body.dataset.drawn"))
        act()
        self.page.wait_for_function("before => Number(document.body.dataset.drawn) > before && document.body.dataset.address === location.search", arg=before)

    def view(self, name):
        if self.page.evaluate("document.body.dataset.view") != name:
            self.after(lambda: self.press(f"nav a[href='?view={name}']"))

    def press(self, selector):
        """Clicks in one step: on a busy machine, the page is redrawn before it is stable enough for a click."""
        self.page.wait_for_selector(selector)
        self.page.evaluate("selector => document.querySelector(selector).click()", selector)

    def cell(self, row, column, count):
        """Returns the position of a row and column in a matrix of `count` ranks; 0.5: the middle of the first cell."""
        self.page.eval_on_selector("canvas.heat", "canvas => canvas.scrollIntoView()")
        frame = self.page.query_selector("canvas.heat").bounding_box()
        side = max(220, min(640, int(self.page.get_attribute("canvas.heat", "aria-label").split()[3]) * 28))
        scale = frame["width"] / (side + 62 + 8)
        return frame["x"] + scale * (62 + column / count * side), frame["y"] + scale * (40 + row / count * side)

    def sum(self, name):
        return float(self.page.get_attribute(f"[data-sum='{name}']", "data-value"))

    def column(self, table, column):
        return self.page.eval_on_selector_all(f"[data-table='{table}'] td[data-column='{column}']", "cells => cells.map(cell => cell.dataset.value)")

    def fill(self, name, value):
        self.after(lambda: self.page.fill(f"input[name={name}]", value))

    def screenshot(self, name):
        """Saves a picture in HR_SCREENSHOTS; for docs/monitor."""
        if folder := os.environ.get("HR_SCREENSHOTS"):
            self.page.screenshot(path=f"{folder}/{name}.png")
