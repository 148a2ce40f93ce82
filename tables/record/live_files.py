"""The file that holds a table's live files as the last sync read them; disposable, one for each table."""

from __future__ import annotations

import uuid
from pathlib import Path

from django.conf import settings

from tables.deltalog.state.snapshot import Snapshot, load
from tables.models import Table


def files_path(table_id: uuid.UUID) -> Path:
    """The disposable Arrow file of a table's live files."""
    return Path(settings.ENV.home) / "files" / str(table_id) / "live.arrow"


def live_files(table: Table) -> Snapshot | None:
    """The table with its live files at the version that the last sync read; None when they must be read again."""
    try:
        return load(files_path(table.pk))
    except (OSError, ValueError):
        return None
