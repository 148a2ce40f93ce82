"""The REST API over HTTP: one request with its bounded repetitions, lists by pages, reads until they are answered."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from console.cli.exits import CliError, Exit
from console.cli.problems import answer_of, error_of
from console.cli.profiles import API, ServerProfile
from console.cli.words import plain

CONNECT_S, READ_S = 10.0, 60.0
LEAST_S = 1.0  # of a request at the end of a wait, beside what the server holds it: `--timeout 0` looks once
MOST_PAUSES_S = 60.0  # of one request, in all
LOST = (0.5, 1.0, 2.0)  # pauses after a lost connection; while you wait for a job, the last one is repeated
BUSY = frozenset({429, 503})  # the request was not taken: it may be asked again, whatever it is
GATEWAY = frozenset({502, 504})  # a proxy's: the request may have been taken
PAGE = 500
EARLY_S = 1.0  # pause after a read that was unanswered at once because too many wait already

Query = Mapping[str, Any]


@dataclass(slots=True)
class _Pauses:
    """The time that one request may spend between its repetitions."""

    patient: bool
    spent: float = 0.0
    lost: int = 0
    busy: int = 0

    def after_lost(self) -> float | None:
        """Seconds until the next try, None when there is none."""
        if self.lost >= len(LOST) and not self.patient:
            return None
        self.lost += 1
        return self._within(LOST[min(self.lost, len(LOST)) - 1])

    def after_busy(self, asked: str | None) -> float | None:
        self.busy += 1
        backoff = float(2 ** min(self.busy - 1, 4))
        return self._within(max(float(asked), backoff) if asked and asked.isdecimal() else backoff)

    def _within(self, pause: float) -> float | None:
        self.spent += pause
        return pause if self.spent <= MOST_PAUSES_S else None


@dataclass
class Api:
    """The API of one server. `note` receives what a person should know meanwhile; `patient` outlasts a restart of the server."""

    server: ServerProfile
    note: Callable[[str], None]
    patient: bool = False
    _http: httpx.Client | None = field(default=None, init=False)

    def get(self, path: str, query: Query | None = None, wait: float = 0, end: float | None = None) -> Any:
        """The answer's JSON. Raises CliError, TIMED_OUT after `end` of the monotonic clock."""
        given = {**(query or {}), **({"wait": wait} if wait else {})}
        return answer_of(self._send("GET", path, query=given, wait=wait, end=end))

    def post(self, path: str, body: Mapping[str, Any] | None = None, key: str | None = None) -> Any:
        """The answer's JSON. With `key` the request is the same however often it is sent. Raises CliError."""
        return answer_of(self._send("POST", path, body=body or {}, key=key))

    def put(self, path: str) -> None:
        """Has something be so that either is or isn't yet. Raises CliError."""
        self._send("PUT", path, body={})

    def delete(self, path: str) -> None:
        """Ends or removes what is there. Raises CliError."""
        self._send("DELETE", path)

    def pages(self, path: str, query: Query, limit: int | None) -> dict[str, Any]:
        """A list in the API's shape, of as many pages as `limit` rows need; of all without one."""
        found: list[Any] = []
        cursor: str | None = None
        while True:
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self.get(path, {**query, "limit": size, **({"cursor": cursor} if cursor else {})})
            found += page["results"]
            # Of the next page's address only the place is taken: the token goes to no other address than you gave.
            cursor = page["next"] and httpx.URL(page["next"]).params.get("cursor")
            if not cursor or (limit is not None and len(found) >= limit):
                return {**page, "results": found}

    def read(self, path: str, body: Mapping[str, Any], timeout: float, query: Query | None = None) -> Any:
        """The answer of a question that a worker answers. Raises CliError, after `timeout` seconds TIMED_OUT."""
        end = time.monotonic() + timeout
        response = self._send("POST", path, body=body, query=query, end=end)
        while response.status_code == 202:
            begin = time.monotonic()
            if begin >= end:
                raise CliError(Exit.TIMED_OUT, f"No answer from a worker within {timeout:g} s. Ask again later.")
            wait = min(end - begin, 20.0)
            place = f"/reads/{answer_of(response)['id']}"
            response = self._send("GET", place, query={"wait": wait}, wait=wait, end=end)
            if response.status_code == 202 and time.monotonic() - begin < wait / 2:
                time.sleep(min(EARLY_S, wait))
        return answer_of(response)

    @contextmanager
    def stream(self, path: str, query: Query) -> Iterator[Iterator[bytes]]:
        """The answer piece by piece. Raises CliError, also for an answer that breaks off."""
        try:
            with self.http.stream("GET", API + path, params=dict(query)) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield response.iter_bytes()
        except (httpx.LocalProtocolError, UnicodeError):
            raise _unsendable() from None
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    @property
    def http(self) -> httpx.Client:
        if self._http is None:
            self._http = self._client()
        return self._http

    def _client(self) -> httpx.Client:
        if self.server.is_open:
            self.note(f"Warning: {self.server.url} isn't encrypted. Others on the network can read your token.")
        headers = {"Accept": "application/json", "User-Agent": "levee-cli"}
        if self.server.token:  # none yet while signing in
            headers["Authorization"] = f"Bearer {self.server.token}"
        return httpx.Client(
            base_url=self.server.url,
            headers=headers,
            # The system's own list of authorities: a company's is there, and SSL_CERT_FILE names another one.
            verify=ssl.create_default_context(),
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            follow_redirects=False,  # a token isn't carried elsewhere
            trust_env=not self.server.is_loopback,  # no proxy between this machine and itself
        )

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        wait: float = 0,
        end: float | None = None,
    ) -> httpx.Response:
        """One request, repeated until `end` while the server doesn't take it; after a lost answer only what may be asked twice."""
        twice = method != "POST" or key is not None
        headers = {"Idempotency-Key": key} if key else {}
        pauses = _Pauses(self.patient)
        while True:
            try:
                response = self.http.request(
                    method, API + path, params=_query(query), json=body, headers=headers, timeout=_timeout(wait, end)
                )
            except (httpx.LocalProtocolError, UnicodeError):
                raise _unsendable() from None
            except httpx.HTTPError as error:
                pause = pauses.after_lost() if _may_repeat(error, twice) else None
                if pause is None:
                    raise self._unreachable(error, may_have_acted=not twice and not _never_sent(error)) from None
                self._pause(pause, "The server can't be reached", end)
                continue
            if response.is_success:
                return response
            pause = pauses.after_busy(response.headers.get("Retry-After")) if _is_passing(response, twice) else None
            if pause is None:
                raise error_of(response)
            self._pause(pause, f"The server is busy ({response.status_code})", end)

    def _pause(self, pause: float, why: str, end: float | None) -> None:
        if end is not None:
            pause = min(pause, end - time.monotonic())
        if pause <= 0:
            raise CliError(Exit.TIMED_OUT, f"{why}, and the time is over. Ask again later.")
        self.note(f"{why}; trying again in {pause:g} s.")
        time.sleep(pause)

    def _unreachable(self, error: httpx.HTTPError, *, may_have_acted: bool = False) -> CliError:
        text = f"{self.server.url} can't be reached: {plain(str(error)) or type(error).__name__}."
        if may_have_acted:
            text = f"The answer of {self.server.url} was lost, and it may have acted. Look before you ask again."
        if _bad_certificate(error):
            text += " If an authority of your own signed its certificate, name its file in SSL_CERT_FILE."
        return CliError(Exit.UNREACHABLE, text)


def _timeout(wait: float, end: float | None) -> httpx.Timeout:
    """Of one request that the server may hold for `wait` seconds; with that, little longer than what is left until `end`."""
    left = READ_S + wait if end is None else max(end - time.monotonic(), wait + LEAST_S)
    return httpx.Timeout(min(READ_S + wait, left), connect=min(CONNECT_S, left))


def _unsendable() -> CliError:
    """Without the library's text, which quotes headers: the token is one."""
    return CliError(Exit.USAGE, "The request can't be sent: an argument holds a character that HTTP doesn't carry.")


def _query(query: Query | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value not in (None, "", ())}


def _never_sent(error: httpx.HTTPError) -> bool:
    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)


def _may_repeat(error: httpx.HTTPError, twice: bool) -> bool:
    if not isinstance(error, httpx.TransportError) or _bad_certificate(error):
        return False
    return twice or _never_sent(error)


def _is_passing(response: httpx.Response, twice: bool) -> bool:
    return response.status_code in BUSY or (twice and response.status_code in GATEWAY)


def _bad_certificate(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
