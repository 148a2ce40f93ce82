"""A table that its catalog manages is refused by path, with the reason: its log in the directory may be behind."""

import json
from pathlib import Path

import pytest

from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.targets.subject import subject_of
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, caller
from tests.factories import person_with
from tests.jobs import small_delta

pytestmark = pytest.mark.django_db
BEHIND = "commits go through the catalog, and the log in the directory may be behind it"


def managed(root, feature):
    """A table whose log a catalog’s engine wrote: the protocol as Delta has it for such tables."""
    place = Path(root.uri) / "managed"
    small_delta.create(place, [{"id": 1, "p": "x"}], {"delta.enableInCommitTimestamps": "true"})
    first = next((place / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    protocol = {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [feature, "vacuumProtocolCheck"],
        "writerFeatures": [feature, "inCommitTimestamp", "vacuumProtocolCheck"],
    }  # fmt: skip
    lines = [{"protocol": protocol} if "protocol" in line else line for line in lines]
    first.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return syncing.sync(factories.TableFactory(root=root, path=str(place), name="managed").pk)


@pytest.fixture(params=["catalogManaged", "catalogOwned-preview"])
def table(request, tmp_path):
    return managed(factories.RootFactory(name="lake", uri=str(tmp_path)), request.param)


def test_no_command_begins_on_its_path(table):
    with pytest.raises(CommandRefused) as refused:
        subject_of(table.pk)
    [refusal] = refused.value.refusals
    assert (refusal.code, refusal.place) == ("catalog_managed", table.path)
    assert BEHIND in refusal.message
    assert "connected to its catalog" in (refusal.remedy or "")


def test_the_preview_of_a_delete_says_so(table):
    answer = caller("operator").post("/previews", {"table": str(table.pk), "predicate": "id = 1"})
    assert (answer.status_code, answer.json()["code"]) == (422, "catalog_managed")
    assert BEHIND in answer.json()["detail"]


def test_the_page_of_a_delete_says_so_and_asks_for_nothing(table):
    shown = browser(person_with("operator")).get(f"/tables/{table.pk}/delete/").content.decode()
    assert BEHIND in " ".join(shown.split())
    assert not Job.objects.exists()
