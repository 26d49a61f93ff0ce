"""The web application: the page, its files, and the facts and pictures of studies as JSON."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from flexibo._internal.text import printable_line
from flexibo.dashboard.access import Access, Guard
from flexibo.dashboard.background_views import SOON, Thinker
from flexibo.dashboard.files import File, page, page_files
from flexibo.dashboard.follower import Follower
from flexibo.dashboard.live_feed import MOST_PAGES, LiveFeed
from flexibo.dashboard.responses import Body
from flexibo.dashboard.study_details import Facts
from flexibo.dashboard.view_requests import LIMIT, VIEWS, Picture, slice_picture
from flexibo.dashboard.watcher import StorageWatch, Watch
from flexibo.errors import FlexiBOError
from flexibo.transfer import table_lines
from flexibo.views.front import measured_front_view

JSON = "application/json"
EVENTS = "text/event-stream"
VERSION_HEADER = "X-Flexibo-Version"
AGAIN_HEADER = "X-Flexibo-Again"
GLANCE, GLANCES = 0.03, 10
"""Seconds between two looks whether a first picture is ready, and how often to look."""
logger = logging.getLogger(__name__)
_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class Dashboard:
    """Answers the requests of the page.

    Args:
        watch: Watches the storages.
        most_pages: So many pages may follow the live feed at a time.
    """

    def __init__(self, watch: Watch, *, most_pages: int = MOST_PAGES) -> None:
        self.watch = watch
        self.feed = LiveFeed(watch, most=most_pages)
        self._minds: dict[str, tuple[Follower, Facts, Thinker]] = {}

    def routes(self) -> list[Route]:
        """Everything that can be asked for."""
        study = "/api/studies/{id}"
        return [
            Route("/", self._page),
            Route("/static/{name}", self._file),
            Route("/api/studies", self._studies),
            Route("/api/live", self._live),
            Route(study, self._study),
            Route(f"{study}/evaluations.csv", self._table),
            Route(f"{study}/slice", self._slice),
            *(Route(f"{study}/{kind}", self._picture) for kind in VIEWS),
        ]

    async def _page(self, request: Request) -> Response:
        return _file_response(request, page())

    async def _file(self, request: Request) -> Response:
        found = page_files().get(request.path_params["name"])
        if found is None:
            raise HTTPException(404, "There is no such file.")
        return _file_response(request, found)

    async def _studies(self, request: Request) -> Response:
        await self.feed.first_look()
        return _sent(request, Body.of(await run_in_threadpool(self.watch.summary)))

    async def _live(self, request: Request) -> Response:
        if request.method != "GET":
            return StreamingResponse(iter(()), media_type=EVENTS)
        if not self.feed.admit():
            raise HTTPException(503, "Too many pages are open on this dashboard; close some of them.")
        return _Stream(self.feed)

    async def _study(self, request: Request) -> Response:
        _, facts, _ = await self._found(request)
        return _sent(request, await run_in_threadpool(lambda: Body.of(facts.to_dict())))

    async def _table(self, request: Request) -> Response:
        follower, _, _ = await self._found(request)
        text = await run_in_threadpool(_csv, follower)
        name = _NAME.sub("-", follower.name).strip("-")[:60] or "study"
        disposition = f'attachment; filename="{name}-evaluations.csv"'
        return Response(text, media_type="text/csv; charset=utf-8", headers={"Content-Disposition": disposition})

    async def _slice(self, request: Request) -> Response:
        follower, _, thinker = await self._found(request)
        copy = follower.copy
        if copy is None:
            return _not_yet(SOON)
        study = copy.study
        names = [objective.name for objective in study.objectives]
        picture = slice_picture(dict(request.query_params), names, study.space.names)
        return await self._thought(request, thinker, picture)

    async def _picture(self, request: Request) -> Response:
        follower, _, thinker = await self._found(request)
        picture = Picture(request.url.path.rpartition("/")[2])
        answer = await self._thought(request, thinker, picture)
        if picture.kind == "front" and answer.status_code == 204 and "have" not in request.query_params:
            quick = await run_in_threadpool(_quick_front, follower)
            if quick is not None:
                return _sent(request, quick, {VERSION_HEADER: "measured", AGAIN_HEADER: f"{SOON:g}"})
        return answer

    async def _thought(self, request: Request, thinker: Thinker, picture: Picture) -> Response:
        """The newest picture there is, unless the page has it already; a quick first one is waited for."""
        answer = thinker.ask(picture)
        for _ in range(GLANCES if "have" not in request.query_params else 0):
            if answer.thought is not None:
                break
            await asyncio.sleep(GLANCE)
            answer = thinker.ask(picture)
        if answer.thought is None or request.query_params.get("have") == answer.thought.version:
            return _not_yet(answer.again)
        headers = {VERSION_HEADER: answer.thought.version}
        if answer.again is not None:
            headers[AGAIN_HEADER] = f"{answer.again:.3g}"
        return _sent(request, answer.thought.body, headers)

    async def _found(self, request: Request) -> tuple[Follower, Facts, Thinker]:
        """The study that a request names."""
        await self.feed.first_look()
        followers = self.watch.followers()
        for gone in self._minds.keys() - followers.keys():
            del self._minds[gone]
        found = followers.get(request.path_params["id"])
        if found is None:
            raise HTTPException(404, "There is no such study here; it may have been deleted, or its storage moved.")
        return self._mind(*found)

    def _mind(self, follower: Follower, storage: StorageWatch) -> tuple[Follower, Facts, Thinker]:
        mind = self._minds.get(follower.id)
        if mind is None or mind[0] is not follower:
            mind = self._minds[follower.id] = (follower, Facts(follower, storage.shown), Thinker(follower))
        return mind


class _Stream(StreamingResponse):
    """The live feed for one page, which gives its place back however it ends."""

    def __init__(self, feed: LiveFeed) -> None:
        super().__init__(feed.stream(), media_type=EVENTS)
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the page hangs up."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.leave()


def dashboard_app(urls: Sequence[str], access: Access, *, most_pages: int = MOST_PAGES) -> tuple[ASGIApp, Dashboard]:
    """The application that shows the studies of these storages, and what answers in it.

    Args:
        urls: The storages.
        access: Who may ask.
        most_pages: So many pages may follow the live feed at a time.
    """
    dashboard = Dashboard(Watch(urls), most_pages=most_pages)
    handlers: Any = {HTTPException: _http_error, FlexiBOError: _mistake, Exception: _failure}
    app = Starlette(routes=dashboard.routes(), exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, access), dashboard


def _csv(follower: Follower) -> bytes:
    with follower.lock:
        if follower.copy is None or follower.is_reading:
            raise HTTPException(503, "The study has not been read to its end yet; try again in a moment.")
        history, found = follower.copy.study.history, follower.copy.records
    return "".join(table_lines(history, found)).encode("utf-8", "replace")


def _quick_front(follower: Follower) -> Body | None:
    with follower.lock:
        if follower.copy is None:
            return None
        return Body.of(measured_front_view(follower.copy.study, limit=LIMIT).to_dict())


def _sent(request: Request, body: Body, headers: dict[str, str] | None = None, media_type: str = JSON) -> Response:
    content, more = body.for_request(request.headers.get("accept-encoding", ""))
    return Response(content, media_type=media_type, headers={**(headers or {}), **more})


def _not_yet(again: float | None) -> Response:
    """Nothing that the page has not."""
    return Response(status_code=204, headers={} if again is None else {AGAIN_HEADER: f"{again:.3g}"})


def _file_response(request: Request, file: File) -> Response:
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return _sent(request, file.body, headers, file.type)


def _sentence(request: Request, status: int, sentence: str) -> Response:
    response = _sent(request, Body.of({"error": sentence}))
    response.status_code = status
    return response


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "There is nothing at this address.", 405: "The dashboard only shows; ask with GET or HEAD."}
    detail = error.detail if isinstance(error, HTTPException) else ""
    plain = not detail or detail in ("Not Found", "Method Not Allowed")
    return _sentence(request, status, known.get(status, "The request cannot be answered.") if plain else detail)


async def _mistake(request: Request, error: Exception) -> Response:
    return _sentence(request, 400, printable_line(error))


async def _failure(request: Request, error: Exception) -> Response:
    logger.error("A request could not be answered.", exc_info=error)
    return _sentence(request, 500, "The dashboard failed to answer; what it printed says more.")
