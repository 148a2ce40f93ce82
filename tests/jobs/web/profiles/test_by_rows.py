"""The profile of columns by their rows, asked for by programs and pages: whose right it is, what is recorded, refused and shown."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.domain import read_limits
from jobs.models import Read
from jobs.reads import queue
from tables.sync import table as syncing
from tests import factories
from tests.clients import Caller, browser, caller
from tests.jobs.reads.test_row_diff import words
from tests.jobs.reads.test_rows import answered, events, page
from tests.tables.deltalog.writing import LogWriter, add

pytestmark = pytest.mark.django_db

ANSWER = {
    "version": 0, "rows": 1200, "more_columns": 3, "read": {"files": 2, "bytes": 3 << 20},
    "columns": [
        {"name": "<i>id</i>", "type": "bigint", "nulls": 4, "distinct": 1190, "min": "-5", "max": "9000", "mean": 12.5,
         "frequent": [{"value": "7", "count": 3}]},
        {"name": "note", "type": "string", "nulls": 0, "distinct": 2, "min": "", "max": "b\u202e", "mean": None,
         "frequent": [{"value": "", "count": 1100}, {"value": "b\u202e", "count": 100}]},
        {"name": "tags", "type": "map<string,int>", "nulls": 1, "distinct": 9, "min": None, "max": None, "mean": None, "frequent": None},
    ],
}  # fmt: skip


@pytest.fixture
def table(tmp_path):
    writer = LogWriter(tmp_path / "orders")
    writer.create(add("a", rows=10, size=100), add("b", rows=20, size=100))
    root = factories.RootFactory(uri=str(tmp_path))
    return syncing.sync(factories.TableFactory(root=root, name="orders", path=str(writer.table)).pk)


def ask(client, table, **body):
    return client.post(f"/tables/{table.pk}/profile", body)


def test_it_is_a_question_and_an_event(table):
    viewer = caller("viewer")
    assert ask(viewer, table, columns=["id"]).status_code == 202
    read = Read.objects.get()
    assert (read.kind, read.queue, read.asked_version) == ("profile", "interactive", 0)
    assert read.question == {"path": table.path, "version": 0, "columns": ["id"]}
    (event,) = events()
    assert (event.after, event.table_version) == ({"read": "profile", "version": 0, "columns": ["id"]}, 0)
    answered("profile", ANSWER)
    assert viewer.get(f"/reads/{read.pk}").json() == ANSWER
    assert queue.limit_of("profile") == queue.limit_of("row_diff")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"columns": []}, "columns"), ({"columns": ["a", "a"]}, "columns"), ({"columns": [str(n) for n in range(51)]}, "columns"),
        ({"version": -1}, "version"), ({"limit": 3}, "limit"),
    ],
)  # fmt: skip
def test_an_odd_question_is_400_and_names_the_field(table, body, field):
    answer = caller("viewer").post(f"/tables/{table.pk}/profile", body)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
    assert not Read.objects.exists()


@pytest.mark.parametrize(("bound", "most"), [("MOST_BYTES", 199), ("MOST_ROWS", 29), ("MOST_FILES", 1)])
def test_more_than_the_bounds_is_refused_before_spark(table, monkeypatch, bound, most):
    monkeypatch.setattr(read_limits, bound, most)
    viewer = caller("viewer")
    answer = ask(viewer, table)
    assert (answer.status_code, answer.json()["code"]) == (422, "too_much_to_read")
    shown = page(browser(viewer.person), f"/tables/{table.pk}/profile/rows/")
    assert "too_much_to_read" in shown[shown.index('id="profile_rows"') :]
    assert shown.count(read_limits.STATISTICS) == 1
    assert (Read.objects.exists(), events()) == (False, [])
    monkeypatch.setattr(read_limits, bound, most + 1)
    assert ask(viewer, table).status_code == 202


def test_it_goes_with_the_right_to_rows(table):
    person = factories.person_with("viewer")
    client, program = browser(person), Caller(person)
    page(client, f"/tables/{table.pk}/profile/rows/")
    read = Read.objects.get()
    answered("profile", ANSWER)
    assert "3 columns by 1,200 rows" in words(page(client, f"/reads/{read.pk}/profile/"))
    person.grants.all().delete()
    factories.GrantFactory(person=person, role="admin")
    assert program.get(f"/reads/{read.pk}").status_code == 403
    assert ask(program, table).status_code == 403
    page(client, f"/reads/{read.pk}/profile/", 403)
    part = client.get(
        f"/reads/{read.pk}/profile/", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/x/"}
    )
    assert (part.status_code, "hx-get" in part.content.decode()) == (200, False)
    page(browser(factories.person_with("viewer")), f"/reads/{read.pk}/profile/", 404)


def test_an_answer_that_is_over_is_not_shown(table):
    client = browser(factories.person_with("viewer"))
    page(client, f"/tables/{table.pk}/profile/rows/")
    Read.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page(client, f"/reads/{Read.objects.get().pk}/profile/", 404)


def test_the_page_asks_and_polls_until_there_is_an_answer(table):
    client = browser(factories.person_with("viewer"))
    shown = page(client, f"/tables/{table.pk}/profile/")
    assert f'hx-get="/tables/{table.pk}/profile/rows/"' in shown
    shown = page(client, f"/tables/{table.pk}/profile/rows/")
    read = Read.objects.get()
    assert f'hx-get="/reads/{read.pk}/profile/"' in shown
    answered("profile", ANSWER)
    part = page(client, f"/reads/{read.pk}/profile/")
    text = words(part)
    assert "The first 3 columns; 3 more can be asked for by the API." in text
    assert "<i>id</i> bigint 4 ≈ 1,190 -5 9000 12.5 7 3" in text
    assert "note string 0 ≈ 2 b⟨U+202E⟩ (empty text) 1,100 , b⟨U+202E⟩ 100" in text
    assert "tags map<string,int> 1 ≈ 9" in text
    assert "hx-trigger" not in part
    assert len(events()) == 1
