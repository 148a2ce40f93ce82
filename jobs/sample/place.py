"""Where the sample lake of this instance is, and whether it is still there."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from tables.models import Root
from tables.rules import sample_lake


def home() -> Path:
    """The directory of the instance; the lake lies in it."""
    return Path(settings.ENV.home)


def sample_root() -> Root | None:
    """The sample lake's root, by its place: it may have another name. None where no lake was written, or its files were deleted.

    A root that was removed while its files stayed is given too: `removed_at` says so.
    """
    uri = str((home() / sample_lake.DIRECTORY).resolve())
    return Root.ever.filter(uri=uri).first() if sample_lake.is_sample(home(), uri) else None
