"""After a restore from a backup no schedule goes on by itself."""

import pytest

from console.audit.actions import Action
from console.audit.actor import Actor
from console.audit.models import Event
from jobs.schedules import acts
from jobs.schedules.stopping import pause_all
from tests.jobs.schedules.conftest import fresh, look, make_due

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_active_schedule_is_paused_on_record(make, actor):
    active, paused = make("one"), acts.pause(actor, make("two"))
    make_due(active)
    assert pause_all(Actor.system("command line"), "Levee was restored from a backup.") == 1
    assert (fresh(active).state, fresh(active).state_text) == ("paused", "Levee was restored from a backup.")
    assert fresh(paused).state_text == "Paused by olga."
    assert look() == 0
    assert Event.objects.filter(action=Action.SCHEDULE_PAUSE, object_id=str(active.pk), actor_kind="system").exists()
