"""The object store of `make cluster`, in memory and for trials: moto's server, which the developers' packages have.

It takes any key and keeps nothing. The one of docker-compose.yml knows its key and keeps what it is given; both have the same bucket.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from http import HTTPStatus

from console.supervisor.processes import Program
from console.supervisor.programs import SERVER_LIMIT_S, page_answers, server_silence

STORE, BUCKET = "store", "lake"


def object_store_program(port: int, environment: Mapping[str, str]) -> Program:
    """The server on 127.0.0.1, ready once it has its bucket."""
    return Program(
        STORE,
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        environment,
        lambda _pid: has_bucket(port),
        SERVER_LIMIT_S,
        sign=lambda _pid: has_bucket(port),
        silence=server_silence(),
    )


def has_bucket(port: int) -> bool:
    """Whether the bucket is there; makes it if the server answers without one."""
    return page_answers(port, 2, f"/{BUCKET}", "PUT", (HTTPStatus.OK, HTTPStatus.CONFLICT))
