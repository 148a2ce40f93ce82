import re
from pathlib import Path

from django.conf import settings as levee_settings

from console.templatetags.formatting.looks import (
    ANY_EVENT,
    EVENT_LOOKS,
    LEVEL_LOOKS,
    STAGE_LOOKS,
    STATE_LOOKS,
    event_look,
)
from jobs.domain.states import State


def test_every_state_of_a_job_has_a_look_of_its_own():
    assert {state.value for state in State} <= set(STATE_LOOKS)
    words = [STATE_LOOKS[state.value].word for state in State]
    assert len(words) == len(set(words))


def test_every_icon_that_templates_and_looks_name_is_in_the_sprite():
    frontend = Path(levee_settings.BASE_DIR) / "frontend"
    sprite = {line.strip() for line in (frontend / "icons.txt").read_text().splitlines() if line.strip()}
    used = {look.icon for looks in (STATE_LOOKS, LEVEL_LOOKS, STAGE_LOOKS, EVENT_LOOKS) for look in looks.values()}
    used.add(ANY_EVENT.icon)
    for template in (frontend / "templates").rglob("*.html"):
        used |= set(re.findall(r'{% icon "([^"]+)"', template.read_text()))
        used |= set(re.findall(r'icon_name="([^"]+)"', template.read_text()))
    assert used - sprite == set()


def test_an_event_of_an_unheard_of_kind_is_a_plain_point():
    assert event_look("note") is ANY_EVENT
