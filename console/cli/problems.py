"""Refusals of the server (RFC 9457) as one line: what is wrong, what you can do, and the code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from console.cli.exits import CliError, Exit
from console.cli.words import plain

_EXITS = {401: Exit.NOT_ALLOWED, 403: Exit.NOT_ALLOWED, 404: Exit.NOT_FOUND, 429: Exit.UNREACHABLE}
_ADVICE = {
    "not_authenticated": "Sign in: levee sign-in URL.",
    "idempotency_conflict": "Give each request a key of its own, or leave --idempotency-key out.",
    "already_open": "Look at it: levee jobs show {job}.",
    "stale": "Read the request again before you decide: levee jobs show JOB.",
    "later_commits": "To undo them as well, name each: {accept}.",
}


class RefusedByServer(CliError):
    """The server answered with a problem; `problem` is its JSON."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, problem
        self.code = str(problem.get("code") or status)
        super().__init__(exit_of(status), _line(self.code, problem))


def exit_of(status: int) -> Exit:
    return Exit.UNREACHABLE if status >= 500 else _EXITS.get(status, Exit.REFUSED)


def error_of(response: httpx.Response) -> CliError:
    """The error that an answer other than 2xx stands for."""
    if response.is_redirect:
        where = plain(response.headers.get("Location", "elsewhere"))
        return CliError(Exit.UNREACHABLE, f"The server redirects to {where}. Sign in with the address it redirects to.")
    problem = _problem(response)
    if problem is None:
        return _strange(response, exit_of(response.status_code))
    return RefusedByServer(response.status_code, problem)


def answer_of(response: httpx.Response) -> Any:
    """The JSON of a success. Raises CliError when it is none: a proxy or another program has answered."""
    try:
        return response.json()
    except ValueError:
        raise _strange(response, Exit.UNREACHABLE) from None


def _strange(response: httpx.Response, code: Exit) -> CliError:
    where = plain(str(response.url))
    return CliError(code, f"{where} answered {response.status_code}, but not as Levee answers. Check the address.")


def _problem(response: httpx.Response) -> dict[str, Any] | None:
    try:
        body = response.json()
    except ValueError:
        return None
    return body if isinstance(body, dict) and "code" in body else None


def _line(code: str, problem: Mapping[str, Any]) -> str:
    engine = problem.get("engine") or {}
    names = "; ".join(filter(None, (code, engine.get("condition"))))
    parts = [str(problem.get("detail") or problem.get("title") or "Refused."), _remedy(problem), _advice(code, problem)]
    return plain(" ".join(filter(None, parts)) + f" [{names}]")


def _remedy(problem: Mapping[str, Any]) -> str:
    """A predicate's remedy, unless the detail says it already."""
    remedy = str(problem.get("remedy") or "")
    return "" if remedy in str(problem.get("detail")) else remedy


def _advice(code: str, problem: Mapping[str, Any]) -> str:
    accept = " ".join(f"--accept-commit {version}" for version in _versions(problem))
    return _ADVICE.get(code, "").format(job=problem.get("job") or "JOB", accept=accept or "--accept-commit VERSION")


def _versions(problem: Mapping[str, Any]) -> list[Any]:
    commits = problem.get("commits")
    found = commits if isinstance(commits, list) else []
    return [commit.get("version") if isinstance(commit, dict) else commit for commit in found]
