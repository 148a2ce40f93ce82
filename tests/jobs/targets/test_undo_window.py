"""How long a change can be undone, by the time of the version before it."""

from datetime import UTC, datetime

import pytest

from jobs.targets.undo_window import undo_to
from tables.models import Commit
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_version_of_the_last_day_of_the_calendar_has_a_window_without_a_known_end():
    """A log may say that it was written then."""
    table = factories.TableFactory(format="delta", version=3)
    last = datetime.max.replace(tzinfo=UTC)
    Commit.objects.create(table=table, incarnation=table.incarnation, version=3, committed_at=last)
    assert undo_to(table, 3).until is None
