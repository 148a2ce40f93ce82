"""Django for benches of what the web process does, run by themselves."""

from __future__ import annotations

import os


def with_django() -> None:
    """Its models; the previews that are measured ask no database."""
    import django
    from django.apps import apps

    if not apps.ready:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
        django.setup()
