"""A browser that reports what a person would not see: violations of the content security policy, script errors, axe's findings."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.test.testcases import LiveServerThread
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.chromium import QUIET_CHROMIUM, chromium
from tests.journeys.sample_server import serving
from tests.patience import limit_ms

# Playwright's synchronous side runs an event loop in this thread; the database is used outside of it.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
SOON_S = 22.5  # what comes at once, with room for a page's first rendering

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
# After a frame, in which observers of sizes have marked what scrolls now. Nobody asks for what is in order, nor for the way to a node.
LOOK = """async rules => {
  await new Promise(seen => requestAnimationFrame(() => setTimeout(seen)));
  return (await axe.run({runOnly: rules, resultTypes: ['violations'], selectors: false})).violations;
}"""
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
REPORT_CSP = """document.addEventListener('securitypolicyviolation', (event) =>
  reportFault(`CSP ${event.effectiveDirective}: ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`))"""


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return browser_type_launch_args | {"executable_path": chromium(), "args": QUIET_CHROMIUM}


@pytest.fixture(autouse=True)
def _patient() -> None:
    """As the machine is now, not as it was when tests were collected."""
    expect.set_options(timeout=limit_ms(SOON_S))


@pytest.fixture(autouse=True)
def _no_page_outlives_its_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """It would go on asking its server, and be answered in this process, with the next tests' rows: `new_context` closes what it opens."""
    if "browser" not in request.fixturenames:
        yield
        return
    browser: Browser = request.getfixturevalue("browser")
    before = browser.contexts
    yield
    assert [context for context in browser.contexts if context not in before] == []


@pytest.fixture
def faults(context: BrowserContext) -> list[str]:
    """What went wrong unseen in any page of the test: CSP violations and script errors. Ask for it before the first page."""
    return faults_of(context)


def faults_of(context: BrowserContext) -> list[str]:
    """The same of any context that has no page yet; the list grows as they happen."""
    found: list[str] = []
    context.expose_binding("reportFault", lambda _source, text: found.append(text))
    context.add_init_script(REPORT_CSP)
    context.on("weberror", lambda error: found.append(str(error.error)))
    return found


@pytest.fixture(scope="module")
def sample_pages() -> Iterator[str]:
    """The address below which every page template is served with sample facts (/THEME/NAME).

    For a module and no longer: settings differ meanwhile.
    """
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def axe_findings() -> Callable[..., list[str]]:
    """A function that lists axe's findings on a page, one line each; of all rules unless told which."""
    script = AXE.read_text()

    def run(page: Page, rules: Sequence[str] = AXE_RULES) -> list[str]:
        page.wait_for_load_state()  # a click returns as soon as the next page begins to come in
        if page.evaluate("typeof axe") == "undefined":
            page.evaluate(script + "; 0")
        # Only what is wrong leaves the browser: what axe found in order is most of its answer, and more work than its look.
        violations = page.evaluate(LOOK, list(rules))
        return [
            f"{finding['id']}: {node['html'][:160]} ({node['failureSummary'].splitlines()[-1].strip()})"
            for finding in violations
            for node in finding["nodes"]
        ]

    return run


@pytest.fixture
def server(transactional_db: None) -> Iterator[str]:
    """The console in a thread, with its static files as WhiteNoise serves them."""
    thread = LiveServerThread("127.0.0.1", static_handler=lambda application: application)  # type: ignore[arg-type]
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    assert thread.error is None
    yield f"http://127.0.0.1:{thread.port}"
    thread.terminate()
