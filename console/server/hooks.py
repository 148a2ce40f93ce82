"""gunicorn's configuration by `python:console.server.hooks`: what a worker does once it has its application."""

from __future__ import annotations

import threading
from typing import Any


def post_worker_init(_worker: Any) -> None:
    """Reports how database and code differ, beside the start: a database that doesn't answer must not hold it up."""
    from console.base import schema_version  # not in gunicorn's parent, which has no Django

    threading.Thread(target=schema_version.report_and_close, args=("web",), daemon=True).start()
