"""Common parts of the monitor's tests: the source tree's modules, synthetic runs, a server in a thread, a browser.

HR_BUILD: build directory. HR_MONITOR=required (make test): a missing requirement of the page or its tests is a failure.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
import time
import traceback
import unittest
import urllib.error
import urllib.request
from pathlib import Path

libc = ctypes.CDLL(None)
ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HR_BUILD", ROOT / "build/dev"))
sys.path.insert(0, str(ROOT / "python"))
REQUIRED = os.environ.get("HR_MONITOR") == "required"
CHROMIUM = shutil.which("chromium")
TOKEN = "a-token-for-tests-0123456789"


def needs(what, there):
    """Skips a class if a requirement is missing that only `make test` installs."""
    return unittest.skipUnless(there or REQUIRED, f"{what} is not here; make test installs it")


SERVER = needs("Starlette or uvicorn", all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn")))
BROWSER = needs("Playwright or chromium", CHROMIUM and importlib.util.find_spec("playwright"))


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hr-monitor-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)


def for_class(test, context):
    """Enters a context that is left after the tests of a class."""
    stack = contextlib.ExitStack()
    test.addClassCleanup(stack.close)
    return stack.enter_context(context)


def wait_for(what, seconds=60.0, text=""):
    """Returns the first true answer of what(). The test fails if that takes longer."""
    end = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > end:
            raise AssertionError(f"not seen within {seconds} s: {text}")
        time.sleep(0.02)
    return found


@contextlib.contextmanager
def serving(place):
    """Yields the address of a server of `place` that runs in a thread."""
    import uvicorn

    from headrace.monitor import serve
    from headrace.monitor.auth import Gate
    from headrace.monitor.server import application

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(32)
    port = listener.getsockname()[1]
    app = application(place, Gate(TOKEN, port))
    server = uvicorn.Server(serve.configuration(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        app.state.closing = server.should_exit = True
        thread.join()
        listener.close()


def fetch(address, headers=None, token=TOKEN, method="GET"):
    """(status, body), redirects followed."""
    request = urllib.request.Request(address, method=method, headers={**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=100) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def re_names(expression):
    """Returns the names of metrics in a Prometheus expression."""
    return re.findall(r"headrace_[a-z_]+", expression)


NOT_ROOT = "" if os.geteuid() == 0 else "another user can be played by root alone"
STRANGER = 54_321  # id of a user that need not exist


def as_user(user, what, seconds=100):
    """Returns the JSON value of what(), called in a child of this process as another user. After `seconds`, the child
    is killed, and the test fails."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            libc.prctl(4, 1)  # PR_SET_DUMPABLE: /proc shows it as that user's
            os.write(theirs, json.dumps(what()).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        late = threading.Timer(seconds, os.kill, (child, 9))
        late.start()
        said = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        late.cancel()
    if code != 0:
        raise AssertionError(f"what user {user} did failed, or took longer than {seconds} s ({code})")
    return json.loads(said)
