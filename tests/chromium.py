"""Headless Chromium for tests of pages, and scripts that look at a page."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["check_keyboard", "launched"]

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

_FOCUS = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const box = one.getBoundingClientRect();
  const style = getComputedStyle(one);
  return {
    name: `${one.tagName} ${one.id || one.name || one.textContent.trim().slice(0, 30)}`,
    seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    marked: style.outlineStyle !== "none" || one.tagName === "line",
  };
}"""
"""What has the focus: its name, whether it is in the window, and whether the focus is marked."""

_STOPS = """() => {
  const stops = "a[href], button:not(:disabled), select, input:not([type=hidden]), summary,"
    + " [tabindex='0']";
  return [...document.querySelectorAll(stops)].filter((one) => one.checkVisibility()).length;
}"""
"""How many elements the keyboard should reach."""


def check_keyboard(page: Any) -> None:
    """Check that Tab reaches every control of a page, in the window and with a visible focus."""
    stops: list[Any] = []
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.keyboard.press("Tab")
    while (stop := page.evaluate(_FOCUS)) is not None and len(stops) < 300:
        stops.append(stop)
        page.keyboard.press("Tab")
    assert [one["name"] for one in stops if not one["seen"]] == []
    assert [one["name"] for one in stops if not one["marked"]] == []
    assert len(stops) == page.evaluate(_STOPS)


@contextmanager
def launched() -> Iterator[Any]:
    """Yield headless Chromium with a profile of its own; skip the test if there is none."""
    if _CHROMIUM is None:
        pytest.skip("Debian's package chromium is not installed, which `make setup` tries to add")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=_CHROMIUM, args=list(_OPTIONS))
        yield opened
        opened.close()
