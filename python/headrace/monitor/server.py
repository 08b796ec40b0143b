"""The web server: the page, its requests, events, metrics. Needs `pip install headrace[monitor]` (Starlette, uvicorn)."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headrace.monitor import metrics
from headrace.monitor.answers import ACTIONS, ANSWERS, GIVEN, Place, act, answer, news
from headrace.monitor.auth import Gate
from headrace.monitor.door import Door
from headrace.monitor.history import Unreadable
from headrace.monitor.query import Wrong

ASSETS = Path(__file__).parent / "assets"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
}
_REFUSED = {**_HEADERS, "Connection": "close"}
_EVENT_SECONDS = 0.25  # seconds between two checks of the event stream for new data
_STREAMS_MOST = 32


class Guard:
    """Accepts requests that name this server correctly and contain the token; a correct token in the address becomes a cookie."""

    def __init__(self, app: ASGIApp, gate: Gate):
        self.app, self.gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        refusal = await self._refusal(request)
        await (refusal or self.app)(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        if not self.gate.known_name(request.headers.get("host", "")):
            return PlainTextResponse("headrace monitor: this name is not one of mine; open the address that it printed\n", 421, _REFUSED)
        said = request.query_params.get("token")
        if said is not None and self.gate.right(said) and request.url.path == "/":
            kept = "&".join(f"{name}={value}" for name, value in request.query_params.multi_items() if name != "token")
            moved = RedirectResponse("/" + (f"?{kept}" if kept else ""), 303, _HEADERS)
            moved.set_cookie(self.gate.cookie, said, httponly=True, samesite="strict")
            self._shown(request)
            return moved
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        held = bearer if scheme.lower() == "bearer" else said if said is not None else request.cookies.get(self.gate.cookie)
        if self.gate.right(held):
            self._shown(request)
            return None
        if held is not None:
            await self.gate.slow_down()
        return PlainTextResponse("headrace monitor: open the address that it printed, with its token\n", 403, _REFUSED)

    @staticmethod
    def _shown(request: Request) -> None:
        request.app.state.door.shown(request.scope.get("client"))


def _from_elsewhere(request: Request) -> bool:
    """True if a page of another origin sends this request. The cookie does not reveal that: it is the same for all
    ports of a host."""
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower()


async def _act(request: Request) -> Response:
    if _from_elsewhere(request):
        return JSONResponse({"problem": "only the monitor's own page may ask for this"}, 403, _HEADERS)
    return await _said(request, ACTIONS, act)


async def _answer(request: Request) -> Response:
    return await _said(request, ANSWERS | GIVEN, answer)


async def _said(request: Request, known: Container[str], what: Callable[[Place, str, Mapping[str, str]], object]) -> Response:
    name = request.path_params["name"]
    if name not in known and (name in ANSWERS or name in GIVEN or name in ACTIONS):
        return JSONResponse({"problem": f"{name} is not asked for by {request.method}"}, 405, _HEADERS)
    if name not in known:
        return JSONResponse({"problem": f"there is nothing named {name[:40]!r}"}, 404, _HEADERS)
    try:
        found = await run_in_threadpool(what, request.app.state.place, name, request.query_params)
        return JSONResponse(found, 200, _HEADERS)
    except Wrong as wrong:
        return JSONResponse({"problem": str(wrong)}, 400, _HEADERS)
    except (Unreadable, sqlite3.Error) as error:
        return JSONResponse({"problem": f"the history cannot be read: {error}"}, 503, _HEADERS)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return JSONResponse({"problem": f"the history holds what no monitor has written ({type(error).__name__})"}, 503, _HEADERS)


async def _events(request: Request) -> Response:
    state = request.app.state
    if state.streams >= _STREAMS_MOST:
        return PlainTextResponse(f"headrace monitor: {_STREAMS_MOST} pages are open already\n", 503, _HEADERS)

    async def stream() -> AsyncIterator[str]:
        state.streams += 1
        last, quiet = -1, 0.0
        try:
            while not state.closing:
                found = news(state.place)
                if found["round"] != last or quiet >= 5:
                    last, quiet = found["round"], 0.0
                    yield f"data: {json.dumps(found)}\n\n"
                wait = min(_EVENT_SECONDS, 0.5 * found.get("period", 1.0))
                await asyncio.sleep(wait)
                quiet += wait
        finally:
            state.streams -= 1

    return StreamingResponse(stream(), media_type="text/event-stream", headers=_HEADERS)


async def _metrics(request: Request) -> Response:
    collector = request.app.state.place.collector
    if collector is None:
        return PlainTextResponse("headrace monitor: a saved run has no metrics of now\n", 404, _HEADERS)
    return PlainTextResponse(metrics.text(collector.state, request.app.state.door), 200, _HEADERS, "text/plain; version=0.0.4")


def _asset(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def send(_: Request) -> Response:
        return FileResponse(ASSETS / name, media_type=kind, headers=_HEADERS)
    return send


def application(place: Place, gate: Gate) -> Starlette:
    routes = [Route("/api/events", _events), Route("/api/{name}", _act, methods=["POST"]), Route("/api/{name}", _answer), Route("/metrics", _metrics)]
    for file in sorted(ASSETS.iterdir()):  # only these, so that no path of a request becomes a path of the file system
        if file.suffix in _TYPES:
            routes.append(Route("/" if file.name == "index.html" else f"/{file.name}", _asset(file.name, _TYPES[file.suffix])))
    app = Starlette(routes=routes, middleware=[Middleware(Guard, gate=gate), Middleware(GZipMiddleware, minimum_size=4096, compresslevel=1)])
    app.state.place, app.state.streams, app.state.closing, app.state.door = place, 0, False, Door()
    return app
