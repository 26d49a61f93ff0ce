"""The web application: the page, its files, the details and views of studies as JSON, and numbers for monitoring."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from flexibo._internal.text import printable_line
from flexibo.dashboard.access import READ_ONLY, Access, AccessControl
from flexibo.dashboard.background_views import LIMIT, SOON, UNREAD, VIEWS, BackgroundViews, ViewRequest, slice_request
from flexibo.dashboard.commands import copyable_commands
from flexibo.dashboard.follower import Follower, GrowingCopy
from flexibo.dashboard.live_feed import MOST_PAGES, LiveFeed
from flexibo.dashboard.metrics import TEXT_TYPE, Metrics, is_fresh
from flexibo.dashboard.responses import Body, File, page, page_files
from flexibo.dashboard.watcher import Watcher
from flexibo.errors import FlexiBOError
from flexibo.transfer import StudyCopy, table_lines
from flexibo.views import status
from flexibo.views.evaluations import evaluation_details, evaluation_rows
from flexibo.views.front import measured_front_view
from flexibo.views.spending import reserved_cost

JSON = "application/json"
EVENTS = "text/event-stream"
VERSION_HEADER = "X-Flexibo-Version"
AGAIN_HEADER = "X-Flexibo-Again"  # seconds after which the page should ask again
POLL_SECONDS, POLLS = 0.03, 10  # the first request for a view waits for it: pause between two looks, and their number
KNOWN_ERRORS = {404: "There is nothing at this address.", 405: READ_ONLY}
SHOWN = 100  # how many failures and notes are sent, the latest ones; the table of evaluations has all failures
MOST_ROWS = 50_000  # how many evaluations the table has, the latest ones; the CSV file has all
FIRST_ROWS = 200  # how many of them a page asks for first
LONGEST = 2000  # longer reasons and notes are shortened to this number of characters
logger = logging.getLogger(__name__)
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_NUMBER = re.compile(r"-?[0-9]{1,9}", re.ASCII)  # of an evaluation, or less than zero of an added result


class _RefusedError(HTTPException):
    """A refusal with a message of our own."""


class StudyDetails:
    """The details of one study, computed again only when it has changed."""

    def __init__(self, follower: Follower, storage: str, *, now: Callable[[], float] = time.time) -> None:
        self._follower = follower
        self._storage = storage
        self._now = now
        self._of_version: tuple[str, dict[str, Any]] = ("", {})

    def to_dict(self) -> dict[str, Any]:
        """All details, ready for JSON."""
        follower = self._follower
        summary = follower.summary(self._storage) | {"now": self._now()}
        with follower.lock:
            if follower.copy is None:
                return summary
            copy = follower.copy.copy(follower.workers)
            if self._of_version[0] != follower.version:
                self._of_version = follower.version, _of_version(follower.copy, copy)
            queue = status.in_flight(copy, follower.copy.pending(), summary["now"])
            reserved = reserved_cost(copy.study.history)
            commands = copyable_commands(follower.url, follower.name, copy.study.history.origin)
        return summary | self._of_version[1] | {"queue": queue, "reserved": reserved, "commands": commands}


@dataclass(frozen=True, slots=True)
class _ShownStudy:
    """A study with everything that answers requests for it."""

    follower: Follower
    details: StudyDetails
    views: BackgroundViews


class Dashboard:
    """Answers the requests of pages."""

    def __init__(self, watcher: Watcher, *, most_pages: int = MOST_PAGES) -> None:
        self.watcher = watcher
        self.feed = LiveFeed(watcher, most=most_pages)
        self._numbers = Metrics(watcher)
        self._shown: dict[str, _ShownStudy] = {}

    def routes(self) -> list[Route]:
        """The routes of the application."""
        study = "/api/studies/{id}"
        return [
            Route("/", self._page),
            Route("/static/{name}", self._file),
            Route("/api/studies", self._studies),
            Route("/api/live", self._live),
            Route("/metrics", self._metrics),
            Route("/health", self._health),
            Route(study, self._study),
            Route(f"{study}/evaluations.csv", self._table),
            Route(f"{study}/evaluations", self._evaluations),
            Route(f"{study}/evaluations/{{number:str}}", self._evaluation),
            Route(f"{study}/slice", self._slice),
            *(Route(f"{study}/{kind}", self._view) for kind in VIEWS),
        ]

    async def _page(self, request: Request) -> Response:
        return _file_response(request, page())

    async def _file(self, request: Request) -> Response:
        found = page_files().get(request.path_params["name"])
        if found is None:
            raise _RefusedError(404, "There is no such file.")
        return _file_response(request, found)

    async def _studies(self, request: Request) -> Response:
        await self.feed.first_look()
        return _response(request, Body.of(await run_in_threadpool(self.watcher.summary)))

    async def _live(self, request: Request) -> Response:
        if request.method != "GET":
            return StreamingResponse(iter(()), media_type=EVENTS)
        if not self.feed.admit():
            raise _RefusedError(503, "Too many pages are open on this dashboard; close some of them.")
        return _LiveResponse(self.feed)

    async def _metrics(self, request: Request) -> Response:
        await self.feed.look_until(lambda: is_fresh(self.watcher))
        text = await run_in_threadpool(self._numbers.text)
        return _response(request, Body.of_bytes(text.encode("utf-8")), media_type=TEXT_TYPE)

    async def _health(self, request: Request) -> Response:
        await self.feed.look_until(lambda: is_fresh(self.watcher))
        health = self._numbers.health()
        response = _response(request, Body.of(health))
        response.status_code = 200 if health["status"] == "ok" else 503
        return response

    async def _study(self, request: Request) -> Response:
        shown = await self._shown_study(request)
        return _response(request, await run_in_threadpool(lambda: Body.of(shown.details.to_dict())))

    async def _table(self, request: Request) -> Response:
        follower = (await self._shown_study(request)).follower
        text = await run_in_threadpool(_csv, follower)
        name = _UNSAFE.sub("-", follower.name).strip("-")[:60] or "study"
        disposition = f'attachment; filename="{name}-evaluations.csv"'
        return Response(text, media_type="text/csv; charset=utf-8", headers={"Content-Disposition": disposition})

    async def _evaluations(self, request: Request) -> Response:
        follower = (await self._shown_study(request)).follower
        after, is_first = request.query_params.get("after", ""), "first" in request.query_params
        return _response(
            request, await run_in_threadpool(_rows, follower, after, FIRST_ROWS if is_first else MOST_ROWS)
        )

    async def _evaluation(self, request: Request) -> Response:
        follower = (await self._shown_study(request)).follower
        return _response(request, await run_in_threadpool(_details, follower, request.path_params["number"]))

    async def _slice(self, request: Request) -> Response:
        shown = await self._shown_study(request)
        copy = shown.follower.copy
        if copy is None:
            return _nothing_new(SOON)
        names = [objective.name for objective in copy.study.objectives]
        wanted = slice_request(dict(request.query_params), names, copy.study.space.names)
        return await self._latest(request, shown.views, wanted)

    async def _view(self, request: Request) -> Response:
        shown = await self._shown_study(request)
        wanted = ViewRequest(request.url.path.rpartition("/")[2])
        response = await self._latest(request, shown.views, wanted)
        if wanted.kind == "front" and response.status_code == 204 and "have" not in request.query_params:
            measured = await run_in_threadpool(_measured_front, shown.follower)
            if measured is not None:
                return _response(request, measured, {VERSION_HEADER: "measured", AGAIN_HEADER: f"{SOON:g}"})
        return response

    async def _latest(self, request: Request, views: BackgroundViews, wanted: ViewRequest) -> Response:
        """The latest version of a view, unless the page has it already; the first one is waited for briefly."""
        latest = views.latest(wanted)
        for _ in range(POLLS if "have" not in request.query_params else 0):
            if latest.view is not None:
                break
            await asyncio.sleep(POLL_SECONDS)
            latest = views.latest(wanted)
        if latest.view is None or request.query_params.get("have") == latest.view.version:
            return _nothing_new(latest.again)
        headers = {VERSION_HEADER: latest.view.version}
        if latest.again is not None:
            headers[AGAIN_HEADER] = f"{latest.again:.3g}"
        return _response(request, latest.view.body, headers)

    async def _shown_study(self, request: Request) -> _ShownStudy:
        await self.feed.first_look()
        followers = self.watcher.followers()
        for gone in self._shown.keys() - followers.keys():
            del self._shown[gone]
        found = followers.get(request.path_params["id"])
        if found is None:
            raise _RefusedError(404, "There is no such study here; it may have been deleted, or its storage moved.")
        follower, storage = found
        shown = self._shown.get(follower.id)
        if shown is None or shown.follower is not follower:
            shown = _ShownStudy(follower, StudyDetails(follower, storage.shown), BackgroundViews(follower))
            self._shown[follower.id] = shown
        return shown


class _LiveResponse(StreamingResponse):
    """The live feed for one page; it frees its place when it ends for whatever reason."""

    def __init__(self, feed: LiveFeed) -> None:
        super().__init__(feed.stream(), media_type=EVENTS)
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.leave()


def dashboard_app(urls: Sequence[str], access: Access, *, most_pages: int = MOST_PAGES) -> tuple[ASGIApp, Dashboard]:
    """The application that shows the studies of these storages, and the dashboard in it."""
    dashboard = Dashboard(Watcher(urls), most_pages=most_pages)
    handlers: Any = {HTTPException: _on_http_error, FlexiBOError: _on_wrong_request, Exception: _on_failure}
    app = Starlette(routes=dashboard.routes(), exception_handlers=handlers)
    app.router.redirect_slashes = False
    return AccessControl(app, access), dashboard


def _csv(follower: Follower) -> bytes:
    with follower.lock:
        if follower.copy is None or follower.is_reading:
            raise _RefusedError(503, "The study has not been read completely yet; try again in a moment.")
        history, records = follower.copy.study.history, follower.copy.records
    return "".join(table_lines(history, records)).encode("utf-8", "replace")


def _rows(follower: Follower, after: str, most: int = MOST_ROWS) -> Body:
    """The evaluations that are new or changed since the page was told `after`; all if that is of something else.

    These are the latest `most`; `after` is empty in an answer to which others are missing, until all are asked for.
    """
    kept, copy = follower.generation, follower.copy  # not locked: views may lock the study for seconds
    if copy is None:
        raise _RefusedError(503, UNREAD)
    generation, _, changes = after.partition(".")
    is_known = changes.isascii() and changes.isdigit() and len(changes) < 10 and generation == str(kept)
    so_far, found = copy.changed(int(changes) if is_known else 0, most)
    left_out = 0 if is_known else copy.count_records() - len(found)
    cursor = "" if left_out > 0 and most < MOST_ROWS else f"{kept}.{so_far}"
    rows = evaluation_rows(copy.study.history, found)
    return Body.of({**rows, "after": cursor, "all": not is_known, "left_out": max(0, left_out)})


def _details(follower: Follower, number: str) -> Body:
    copy, place = follower.copy, int(number) if _NUMBER.fullmatch(number) else None
    record = None if copy is None or place is None else copy.record(place)
    if copy is None or place is None or record is None:
        raise _RefusedError(404, "There is no such evaluation.")
    return Body.of(evaluation_details(copy.study.history, place, record))


def _measured_front(follower: Follower) -> Body | None:
    """The front of the measured designs, which is shown until the models are fitted."""
    with follower.lock:
        if follower.copy is None:
            return None
        return Body.of(measured_front_view(follower.copy.study, limit=LIMIT).to_dict())


def _response(request: Request, body: Body, headers: dict[str, str] | None = None, media_type: str = JSON) -> Response:
    content, more = body.for_request(request.headers.get("accept-encoding", ""))
    return Response(content, media_type=media_type, headers={**(headers or {}), **more})


def _nothing_new(again: float | None) -> Response:
    """The page has the latest version already, or there is none yet."""
    return Response(status_code=204, headers={} if again is None else {AGAIN_HEADER: f"{again:.3g}"})


def _file_response(request: Request, file: File) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return _response(request, file.body, headers, file.type)


def _error_response(request: Request, status: int, message: str) -> Response:
    response = _response(request, Body.of({"error": message}))
    response.status_code = status
    return response


async def _on_http_error(request: Request, error: Exception) -> Response:
    if isinstance(error, _RefusedError):
        return _error_response(request, error.status_code, error.detail)
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _error_response(request, status, KNOWN_ERRORS.get(status, "The request cannot be answered."))


async def _on_wrong_request(request: Request, error: Exception) -> Response:
    return _error_response(request, 400, printable_line(error))


async def _on_failure(request: Request, error: Exception) -> Response:
    logger.error("A request could not be answered.", exc_info=error)
    return _error_response(request, 500, "The dashboard failed to answer; its log in the terminal says more.")


def _of_version(growing: GrowingCopy, copy: StudyCopy) -> dict[str, Any]:
    """The details that change only with events."""
    failures, notes = growing.failures, status.notes(copy)
    options = copy.study.space.options.items()
    return {
        "overview": status.overview(copy, growing.records),
        "settings": status.settings(copy),
        "options": [{"name": name, "values": _option_values(option)} for name, option in options],
        "queued": [_shortened(row, "why") for row in status.queued(copy)[:SHOWN]],
        "queued_in_all": len(copy.study.history.queue),
        "failures": [_shortened(row, "reason") for row in status.failures(failures[-SHOWN:])],
        "failures_in_all": len(failures),
        "notes": [_shortened(note, "text") for note in reversed(notes[-SHOWN:])],
        "notes_in_all": len(notes),
    }


def _option_values(option: Any) -> str:
    values = getattr(option, "values", None)
    if values is not None:
        return ", ".join(str(value) for value in values)[:LONGEST]
    scale = ", logarithmic" if option.log else ""
    return f"{option.low:g} to {option.high:g}{scale}"


def _shortened(row: Mapping[str, Any], field: str) -> dict[str, Any]:
    text = str(row[field])
    return {**row, field: text if len(text) <= LONGEST else f"{text[:LONGEST]}…"}
