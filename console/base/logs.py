"""One log line per event, JSON, into a file per process under the home."""

from __future__ import annotations

import logging
import logging.config
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse

# Passwords are checked there: the log must not show to the tenth of a millisecond how long that took.
UNTIMED = {"accounts:sign_in", "accounts:confirm", "accounts:change_password"}

request_id: ContextVar[str] = ContextVar("request_id", default="")
request_address: ContextVar[str] = ContextVar("request_address", default="")
_ids: ContextVar[Mapping[str, str]] = ContextVar("log_ids", default=MappingProxyType({}))


def logging_config(home: Path) -> dict[str, Any]:
    """The dictionary for `logging.config`: JSON lines to stderr, or to `<home>/logs/<LEVEE_PROCESS>.log` where that is set."""
    process = os.environ.get("LEVEE_PROCESS")
    handler: dict[str, Any] = {"class": "logging.StreamHandler", "formatter": "json"}
    if process and (home / "logs").is_dir():
        handler = {
            "class": "logging.handlers.WatchedFileHandler",
            "filename": str(home / "logs" / f"{process}.log"),
            "formatter": "json",
        }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    structlog.processors.JSONRenderer(),
                ],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"out": handler},
        "root": {"handlers": ["out"], "level": "INFO"},
        "loggers": {
            "django.request": {"level": "ERROR"},
            "django.server": {"level": "ERROR"},
            "py4j": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
        },
    }


@contextmanager
def log_ids(**ids: str) -> Iterator[None]:
    """Adds the ids to every line that this thread logs inside, beside those of the blocks around; empty ones are left out."""
    token = _ids.set({**_ids.get(), **{name: value for name, value in ids.items() if value}})
    try:
        yield
    finally:
        _ids.reset(token)


def _with_ids(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if request_id.get():
        event["request_id"] = request_id.get()
    for name, value in _ids.get().items():
        event.setdefault(name, value)  # the line knows better what it is about
    return event


_SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _with_ids,
]

structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_SHARED,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)

log: structlog.stdlib.BoundLogger = structlog.get_logger("levee")


def apply_logging(config: dict[str, Any]) -> None:
    """Sets logging up from the settings' dictionary (Django leaves it to us: LOGGING_CONFIG is None)."""
    logging.config.dictConfig(config)


class RequestLogMiddleware:
    """Gives each request an id and an address, and writes its one line when it has been answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        id_token = request_id.set(uuid.uuid4().hex)
        address_token = request_address.set(request.META.get("REMOTE_ADDR", ""))
        started = time.perf_counter()
        try:
            response = self.get_response(request)
            milliseconds = (time.perf_counter() - started) * 1000
            response["X-Request-Id"] = request_id.get()
            if not (request.resolver_match and request.resolver_match.view_name in UNTIMED):
                response["Server-Timing"] = f"app;dur={milliseconds:.1f}"
            if not request.path_info.startswith("/health/"):
                log.info(
                    "request",
                    method=request.method,
                    path=request.path,
                    status=response.status_code,
                    ms=round(milliseconds, 1),
                )
            return response
        finally:
            request_id.reset(id_token)
            request_address.reset(address_token)
