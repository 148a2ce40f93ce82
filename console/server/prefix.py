"""Where an instance's addresses begin: with a prefix such as `/levee`, whether a proxy leaves it on a request or takes it off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Prefixed:
    """The application, told its prefix by the settings alone: gunicorn would take it from a header of the request."""

    def __init__(self, application: WSGIApplication, prefix: str) -> None:
        """`prefix` begins with a slash and ends with none; empty for the root."""
        self._application = application
        self._prefix = prefix

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        asked = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        environ["SCRIPT_NAME"] = self._prefix
        environ["PATH_INFO"] = self._below(asked)
        return self._application(environ, start_response)

    def _below(self, path: str) -> str:
        """The part after the prefix. A path without it is whole already: a probe's, or one whose prefix a proxy has taken off."""
        below = path.removeprefix(self._prefix)
        return below if below.startswith("/") else "/" if path == self._prefix else path
