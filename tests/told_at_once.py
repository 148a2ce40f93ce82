"""Tells of a test that failed, the moment it did: a run that is cut off has no summary.

pytest loads it by `-p` (pyproject.toml); of several processes only the one that collects the reports has a terminal.
"""

import pytest

LINES = 60  # of a failure's own text, its end


class _Told:
    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The name, the part of the test, how long it took, and where it failed."""
        if report.outcome != "failed":
            return
        self._terminal.ensure_newline()
        self._terminal.write_line(
            f"{report.outcome.upper()} {report.nodeid} ({report.when}, after {report.duration:.0f} s)"
        )
        for line in report.longreprtext.splitlines()[-LINES:]:
            self._terminal.write_line(f"  {line}")
        self._terminal.flush()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Beside the terminal's own reporter, where there is one."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        config.pluginmanager.register(_Told(terminal), "told_at_once")
