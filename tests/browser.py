"""A real browser for tests: headless Chromium through its driver, which hears every console message and request.

A test module starts one for all its tests, since a start costs seconds::

    @pytest.fixture(scope="module")
    def chrome() -> Iterator[Browser]:
        with browser() as started:
            yield started
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

PATIENCE = 60.0
"""Seconds that anything may take on a crowded machine before a test gives up."""
_STARTS = 3
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
Found = TypeVar("Found")


class Browser:
    """A running browser; `driver` is Selenium's, for what has no method here."""

    def __init__(self, driver: WebDriver) -> None:
        self.driver = driver
        self._messages: list[dict[str, Any]] = []
        self._requests: dict[str, str] = {}

    def open(self, place: str | Path) -> None:
        """Open an address or a file, in light colours and at the size of a small desktop.

        Fails where the page before left errors in the console that nobody called for (`forget`).
        """
        left = self.severe()
        self.driver.get("about:blank")
        self.forget()
        assert left == []
        self.colours("light")
        self.size(1280, 900)
        self.driver.get(place.resolve().as_uri() if isinstance(place, Path) else place)

    def forget(self) -> None:
        """Forget the messages and requests so far, those that a test called for."""
        self.severe()
        self.requests()
        self._messages.clear()
        self._requests.clear()

    def run(self, script: str, *arguments: object) -> Any:
        """What the body of a function returns in the page, or what its promise is fulfilled with."""
        return self.driver.execute_script(script, *arguments)  # type: ignore[no-untyped-call]

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """Give the page a size in pixels; a phone's window may be narrower than a desktop allows."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def colours(self, scheme: str) -> None:
        """Let the reader prefer the `light` or the `dark` colours."""
        preferred = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": preferred})

    def hover(self, x: float, y: float) -> None:
        """Move the real mouse to a place of the window, in pixels from its upper left corner."""
        self._mouse("mouseMoved", x, y)

    def click(self, x: float, y: float) -> None:
        """Click with the real mouse at a place of the window, in pixels from its upper left corner."""
        self._mouse("mouseMoved", x, y)
        self._mouse("mousePressed", x, y, button="left", clickCount=1)
        self._mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Press at one place of the window, move to another in steps, and let go."""
        self._mouse("mouseMoved", *start)
        self._mouse("mousePressed", *start, button="left", clickCount=1)
        for step in range(1, steps + 1):
            x, y = (a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
            self._mouse("mouseMoved", x, y, button="left", buttons=1)
        self._mouse("mouseReleased", *end, button="left", clickCount=1)

    def wheel(self, x: float, y: float, down: float) -> None:
        """Turn the mouse's wheel at a place of the window; less than zero is up."""
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=down)

    def _mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def severe(self) -> list[str]:
        """The errors in the console since the page was opened: broken scripts, forbidden or missing files."""
        self._messages += self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [message["message"] for message in self._messages if message["level"] == "SEVERE"]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened, its own first.

        What the page holds itself is not among them, nor what the browser refused to ask for.
        """
        for entry in self.driver.get_log("performance"):  # type: ignore[no-untyped-call]
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                self._requests[event["params"]["requestId"]] = event["params"]["request"]["url"]
            if event["method"] == "Network.loadingFailed" and "blockedReason" in event["params"]:
                self._requests.pop(event["params"]["requestId"], None)
        return [url for url in self._requests.values() if not url.startswith(("data:", "blob:", "chrome:"))]

    def save_screenshot(self, path: Path) -> None:
        """Save what the window shows as a PNG file."""
        assert self.driver.save_screenshot(str(path)), path  # type: ignore[no-untyped-call]


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser, closed at the end; the test is skipped where there is none, and fails on an error in the console."""
    reason = _why_not()
    if reason:
        pytest.skip(reason)
    profile = tempfile.mkdtemp(prefix="flexibo-browser-")
    try:
        driver = _start(profile)
        try:
            started = Browser(driver)
            yield started
            assert started.severe() == []
        finally:
            driver.quit()
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def wait_for(browser: Browser, condition: str | Callable[[], Found], what: str, *, seconds: float = PATIENCE) -> Found:
    """What a condition says once it holds: the body of a function in the page, or a function here.

    Args:
        browser: The browser with the page.
        condition: Asked again and again until it returns something true.
        what: What is waited for, for the message of a failure.
        seconds: How long to wait; generous, for crowded machines.
    """
    end = time.monotonic() + seconds
    while True:
        found: Any = browser.run(condition) if isinstance(condition, str) else condition()
        if found:
            return found
        assert time.monotonic() < end, f"{what}: not within {seconds:g} s; errors in the console: {browser.severe()}"
        time.sleep(0.05)


def _why_not() -> str | None:
    if find_spec("selenium") is None:
        return "selenium is not installed (extra test)"
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: apt-get install {package})"
    return None


def _start(profile: str) -> WebDriver:
    """A driver with its browser; on a machine that is short of memory or time, a start may need a second try."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for attempt in range(1, _STARTS + 1):
        try:
            driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        except WebDriverException:
            if attempt == _STARTS:
                raise
        else:
            driver.set_page_load_timeout(PATIENCE)
            driver.set_script_timeout(PATIENCE)
            return driver
    raise AssertionError("unreachable")
