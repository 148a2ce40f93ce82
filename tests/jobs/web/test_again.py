"""“Request again” leads to a command's page with all that the ended job had asked for, and why, however long that is."""

import html
import re
from typing import Any

import pytest
from django.utils import timezone

from jobs.commands.alter_schema.rules import AlterSchema
from jobs.commands.clone.rules import Clone
from jobs.commands.convert.rules import Convert
from jobs.commands.delete.rules import Delete
from jobs.commands.drop_feature.rules import DropFeature
from jobs.commands.optimize.rules import Optimize
from jobs.commands.registry import ROWS
from jobs.commands.reorg.rules import Reorg
from jobs.commands.repair.rules import Repair
from jobs.commands.restore.rules import Restore
from jobs.commands.set_properties.rules import SetProperties
from jobs.commands.vacuum.rules import Vacuum
from jobs.domain.states import State
from jobs.models import Job
from tests import factories
from tests.clients import browser
from tests.factories import lakes
from tests.factories.jobs import job_on
from tests.jobs import small_delta
from tests.journeys.samples import INSPECTION

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
REASON = "“Request 4711”, as agreed; " + "äöü€ " * 390
ADD = {"add": {"path": "note", "type": "string", "nullable": True, "comment": None}}
LONG = " OR ".join(f"(p = 'FR' AND id = {number})" for number in range(200))


@pytest.fixture
def sales(tmp_path):
    made = lakes.sales_in(factories.RootFactory(uri=str(tmp_path)))
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "FR"}])
    return made


@pytest.fixture
def olga():
    return factories.person_named("olga", "operator")


# What each command had asked for, and the fields of its form that have to say so again.
ASKED: dict[str, tuple[Any, dict[str, Any]]] = {
    "delete": (lambda t: Delete(t, LONG), {"text": LONG}),
    "restore": (lambda t: Restore(t, 0), {"version": "0"}),
    "optimize": (lambda t: Optimize(t, predicate="p = 'FR'", zorder_by=["id"]), {"predicate": "p = 'FR'", "zorder_by": "id"}),
    "reorg": (lambda t: Reorg(t, predicate="p = 'FR'"), {"predicate": "p = 'FR'"}),
    "repair": (lambda t: Repair(t), {}),
    "vacuum": (lambda t: Vacuum(t, retention_hours=72, lite=True), {"retention_hours": "72", "lite": "on"}),
    "set_properties": (
        lambda t: SetProperties(t, set={"delta.appendOnly": "true"}, unset=[]),
        {},
    ),
    "drop_feature": (lambda t: DropFeature(t, "deletionVectors", True), {"feature": "deletionVectors", "truncate_history": "on"}),
    "alter_schema": (lambda t: AlterSchema(t, [ADD]), {"changes": "note"}),
    "clone": (lambda t: Clone(t, "/lake/copy", "deep", 1), {"target": "/lake/copy", "kind": "deep", "version": "1"}),
}  # fmt: skip


def ended(asked, table, person) -> Job:
    return job_on(table, person, asked, State.WITHDRAWN, reason=REASON, finished_at=timezone.now())


@pytest.mark.parametrize("kind", ASKED)
def test_a_request_is_made_again_with_all_that_it_had(olga, sales, kind):
    command, fields = ASKED[kind]
    job = ended(command(str(sales.pk)), sales, olga)
    client = browser(olga)
    address = client.get(f"/jobs/{job.pk}/").context["again_url"]
    assert len(address) < 200
    answer = client.get(address)
    assert answer.status_code == 200, answer.content[-2000:]
    shown = html.unescape(answer.content.decode())
    assert REASON.strip() in shown
    if kind == "set_properties":  # each has a field of its own
        assert answer.context["form"].wanted(sales).set == {"delta.appendOnly": "true"}
    for name, value in fields.items():
        for each in [value] if isinstance(value, str) else value:
            assert each in shown, name


def test_every_command_that_people_request_can_be_requested_again():
    of_their_own = {"convert", "stream_round"}
    assert set(ASKED) | of_their_own == {kind for kind, row in ROWS.items() if row.web}


def test_a_convert_is_made_again_with_its_types_and_reason(olga, tmp_path):
    (tmp_path / "orders").mkdir()
    table = factories.TableFactory(root=factories.RootFactory(uri=str(tmp_path)), name="orders", format="parquet")
    asked = Convert(
        path=table.path,
        name=None,
        source_format="parquet",
        partition_schema="`day` string, `region` int",
        collect_stats=False,
    )
    job = ended(asked, table, olga)
    factories.read(olga, kind="inspect", question={"path": table.path}, state="answered", answer=INSPECTION)
    client = browser(olga)
    answer = client.get(client.get(f"/jobs/{job.pk}/").context["again_url"])
    assert answer.status_code == 200
    assert answer.context["reason"] == REASON
    assert answer.context["collect_stats"] is False
    chosen = {each["name"]: each["chosen"] for each in answer.context["inspection"]["partition_columns"]}
    assert (chosen["day"], chosen["region"]) == ("string", "int")


@pytest.mark.parametrize("wrong", ["nonsense", "other command", "other table", "not yours"])
def test_a_job_of_another_page_or_person_fills_in_nothing(olga, sales, wrong, tmp_path):
    job, address, person = ended(Delete(str(sales.pk), LONG), sales, olga), "delete", olga
    again = str(job.pk)
    if wrong == "nonsense":
        again = "nonsense"
    elif wrong == "other command":
        address = "optimize"
    elif wrong == "other table":
        small_delta.create(tmp_path / "orders", [{"id": 1, "p": "FR"}])
        sales = factories.TableFactory(root=sales.root, name="orders")
    else:
        elsewhere = factories.TableFactory()
        again = str(ended(Delete(str(elsewhere.pk), LONG), elsewhere, factories.person_with("operator")).pk)
        person = factories.person_with("operator", root=sales.root)
    answer = browser(person).get(f"/tables/{sales.pk}/{address}/?again={again}")
    assert answer.status_code == 404
    assert "Request 4711" not in html.unescape(answer.content.decode())  # the number alone may be an id's


def test_a_delete_of_every_row_asks_for_the_name_once_more(olga, sales):
    job = ended(Delete(str(sales.pk), None), sales, olga)
    client = browser(olga)
    shown = client.get(client.get(f"/jobs/{job.pk}/").context["again_url"]).content.decode()
    assert re.search(r'name="whole"[^>]* checked', shown)
    assert re.search(r'name="name"[^>]*value="sales"', shown) is None
