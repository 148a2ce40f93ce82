"""How a table's pages offer a schedule of its commands."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from tables.models import Table
from tables.ports import Offer


def _form_for(table: Table) -> str:
    """Without a command it asks for one."""
    return f"{reverse('jobs:schedule_new')}?{urlencode({'table': table.pk})}"


NEW_SCHEDULE = Offer("schedule", "New schedule…", _form_for, words="cron recurring repeat")
