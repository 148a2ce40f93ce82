"""What happened to the lake lately: days by kind of commit for who may see the tables, sums of whole roots, growth, a day's commits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.accounts import lists
from console.accounts.models import Person
from tables.catalog import due, light_turns
from tables.catalog.lately import commits, days, growth
from tables.deltalog.read.file_sums import Removal
from tables.models import Commit, Explanation, Root, Table
from tables.record import daily_totals
from tables.rules.commit_kinds import KIND_SQL, CommitKind, of_kind
from tables.web.kinds import COMMITS
from tests import factories
from tests.clients import browser

pytestmark = pytest.mark.django_db
NOON = timezone.now().astimezone(UTC).replace(hour=12, minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
def at_noon() -> Iterator[None]:
    """The day of the pages is the one of NOON, also in a run across midnight."""
    with time_machine.travel(NOON):
        yield


def commit(
    table: Table, back: int = 0, operation: str = "WRITE", rows: int | None = 10, size: int = 100, **more: Any
) -> Commit:
    """The table's next commit, so many days ago at noon, that adds `rows` and `size` bytes, or removes them where they are negative."""
    version = Commit.objects.filter(table=table).count()
    made = Commit.objects.create(
        table=table, version=version, operation=operation, committed_at=NOON - timedelta(days=back), rows_changed=rows,
        bytes_added=max(size, 0), bytes_removed=max(-size, 0), **more,
    )  # fmt: skip
    daily_totals.recount(table, version)
    return made


def of(person: Person) -> Any:
    return days.days_for(Person.objects.get(pk=person.pk))


def delta(**more: Any) -> Table:
    return factories.TableFactory(**more)


def test_a_day_has_its_commits_by_kind_and_what_came_in_and_went_out() -> None:
    table = delta()
    commit(table)
    commit(table, operation="WRITE", rows=5, size=-30, operation_parameters={"mode": "Overwrite"})
    commit(table, operation="DELETE", rows=-4, size=-7)
    commit(table, operation="OPTIMIZE", rows=0, size=-20)
    commit(table, operation="SET TBLPROPERTIES", rows=None, size=0)
    commit(table, back=29)
    commit(table, back=30)
    found = of(factories.person_with("viewer"))
    today = days.LakeDay(NOON.date(), 5, 1, 1, 1, 1, rows_in=15, rows_out=4, bytes_in=100, bytes_out=57, untold=1)
    assert found.days[-1] == today
    assert (found.days[-1].others, found.counted_at, len(found.days)) == (1, None, 30)
    assert [day.commits for day in found.days] == [1, *[0] * 28, 5]


def test_a_kind_is_the_same_in_a_filter_and_in_the_sums() -> None:
    table = delta()
    operations = (
        "WRITE",
        "STREAMING UPDATE",
        "MERGE",
        "DELETE",
        "TRUNCATE",
        "VACUUM END",
        "FSCK",
        "RESTORE",
        "CONVERT",
        "odd",
        "",
        "UNKNOWN",
        "CREATE TABLE",
    )
    for operation in operations:
        for parameters in ({}, {"mode": "Overwrite"}, {"outputMode": "Complete"}, {"mode": "Append"}, {"mode": None}):
            commit(table, operation=operation, operation_parameters=parameters)
        for removal in Removal:
            for files in (0, 2, None):
                commit(table, operation=operation, removal=removal.value, files_added=files)
    with connection.cursor() as cursor:
        cursor.execute(f"select version, {KIND_SQL} from tables_commit")
        summed = dict(cursor.fetchall())
    filtered = [(c.version, kind.value) for kind in CommitKind for c in Commit.objects.filter(of_kind(kind))]
    assert len(filtered) == len(summed) == len(operations) * (5 + 3 * len(Removal))
    assert dict(filtered) == summed
    day = of(factories.person_with("viewer")).days[-1]
    assert {kind.value: day.of(kind) for kind in CommitKind} == {
        k: list(summed.values()).count(k) for k in set(summed.values())
    }


def test_you_see_the_days_of_your_tables_alone() -> None:
    mine, other, hidden = delta(), delta(), delta(hidden_at=NOON)
    for table in (mine, other, hidden):
        commit(table)
    assert of(factories.person_with("viewer")).days[-1].commits == 2
    assert of(factories.person_with("viewer", root=mine.root)).days[-1].commits == 1
    assert of(factories.person_with("viewer", table=other)).days[-1].commits == 1
    assert of(factories.person_with("viewer", table=hidden)).days[-1].commits == 0
    assert not of(factories.person_with(None))


def test_large_catalogs_add_up_what_roots_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(days, "LIVE", 1)
    tables = [delta() for _ in range(4)]
    for number, table in enumerate(tables):
        for _ in range(number + 1):
            commit(table, back=number)
    everything = factories.person_with("viewer")
    partly = factories.person_with("viewer", root=tables[0].root)
    factories.GrantFactory(person=partly, table=tables[2])
    factories.GrantFactory(person=partly, table=tables[0])  # of the root that they see as a whole: counted once
    assert of(everything).uncounted == 4
    assert due.syncs_due() is True
    while light_turns.do_next():
        pass
    assert days.next_late() is None
    found = of(everything)
    assert ([day.commits for day in found.days[-4:]], found.uncounted) == ([4, 3, 2, 1], 0)
    assert found.counted_at is not None
    assert [day.commits for day in of(partly).days[-4:]] == [0, 3, 0, 1]
    commit(tables[0])
    assert of(everything).days[-1].commits == 1
    Root.objects.update(days_at=timezone.now() - days.REFRESH)
    assert [days.refresh_next() for _ in range(5)] == [True] * 4 + [False]
    assert of(everything).days[-1].commits == 2


def test_a_root_that_one_worker_counts_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(days, "LIVE", 1)
    first, second = (delta().root for _ in range(2))
    Root.objects.filter(pk=second.pk).update(days_at=timezone.now() - 2 * days.REFRESH)
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("select pg_advisory_xact_lock(%s, hashtext(%s))", [days._LOCKS, str(first.pk)])
        assert [days.refresh_next(), days.refresh_next()] == [True, False]
        assert list(Root.objects.filter(days_at=None)) == [first]
    assert [days.refresh_next(), days.refresh_next()] == [True, False]


def test_home_says_which_roots_nobody_has_counted_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(days, "LIVE", 1)
    for _ in range(2):
        commit(delta())
    person = factories.person_with("viewer")
    assert "2 roots not counted yet" in " ".join(browser(person).get("/").content.decode().split())
    while days.refresh_next():
        pass
    page = browser(person).get("/").content.decode()
    assert "not counted yet" not in page
    assert "2 commits in 30 days" in page


def test_sums_that_no_bigint_holds_are_cut_and_no_error() -> None:
    for _ in range(2):
        table = delta()
        for _ in range(2):
            commit(table, size=2**62)
        commit(table, size=2**62)
    assert of(factories.person_with("viewer")).days[-1].bytes_in == 2**63 - 1


def test_growth_is_reckoned_back_from_the_size_of_now() -> None:
    big, small, untold = (delta(size_bytes=size, name=name) for name, size in (("b", 1_000), ("s", 10), ("u", 500)))
    delta(size_bytes=None)
    commit(big, back=2, size=300)
    commit(big, size=-50)
    commit(untold, back=1, size=10)
    Commit.objects.filter(table=untold).update(bytes_added=None)
    daily_totals.count_anew(untold)
    found = {each.table.pk: each for each in growth.of_largest(factories.person_with("viewer"))}
    assert list(found) == [big.pk, untold.pk, small.pk]
    assert found[big.pk].sizes == [750] * 28 + [1_050, 1_050, 1_000]
    assert (found[big.pk].grown, found[small.pk].grown, found[untold.pk].grown) == (250, 0, None)
    assert found[untold.pk].sizes[-3:] == [None, 500, 500]
    assert growth.of_largest(factories.person_with("viewer", root=small.root))[0].table == small
    assert "Largest tables, and their growth" in browser(factories.person_with("viewer")).get("/").content.decode()


def test_the_commits_of_a_day_are_listed_in_pages() -> None:
    table, other = delta(name="sales"), delta(name="other")
    for operation in ("WRITE", "DELETE", "MERGE"):
        commit(table, operation=operation)
        commit(other, back=1, operation=operation)
    person = factories.person_with("viewer", root=table.root)
    today, yesterday = NOON.date(), NOON.date() - timedelta(days=1)
    first = commits.commit_page(person, commits.CommitFilter(yesterday, today), 2)
    rest = commits.commit_page(person, commits.CommitFilter(yesterday, today), 2, first.next or "")
    assert [c.operation for c in (*first.rows, *rest.rows)] == ["MERGE", "DELETE", "WRITE"]
    assert rest.next is None
    deletes = commits.commit_page(person, commits.CommitFilter(today, today, CommitKind.REMOVAL), 9)
    assert [c.version for c in deletes.rows] == [1]
    everybody = factories.person_with("viewer")
    destructive = commits.commit_page(everybody, commits.CommitFilter(yesterday, today, destructive=True), 9)
    assert [(c.table.name, c.operation) for c in destructive.rows] == [
        *(("sales", "MERGE"), ("sales", "DELETE")),
        *(("other", "MERGE"), ("other", "DELETE")),
    ]


@pytest.mark.parametrize(
    ("asked", "expected", "missing"),
    [
        ("", "sales v0", "other v0"),
        ("day={yesterday}", "other v0", "sales v0"),
        ("kind=destructive", "other v1", "other v0"),
        ("kind=removal&day={yesterday}", "other v1", "other v0"),
        ("kind=nonsense&day=2026-99-99", "sales v0", "other v0"),
        ("day=9999-12-31", "sales v0", "other v0"),
        ("day=0001-01-01", "No such commits", "sales v0"),
    ],
)
def test_the_page_of_commits_follows_its_address(asked: str, expected: str, missing: str) -> None:
    commit(delta(name="sales"))
    other = delta(name="other")
    commit(other, back=1)
    commit(other, back=1, operation="DELETE")
    yesterday = (NOON - timedelta(days=1)).date().isoformat()
    answer = browser(factories.person_with("viewer")).get(f"/tables/commits/?{asked.format(yesterday=yesterday)}")
    assert answer.status_code == 200
    assert expected in answer.content.decode()
    assert missing not in answer.content.decode()


def unapproved(table: Table, back: int = 0) -> Commit:
    made = commit(table, back=back, operation="DELETE")
    Explanation.objects.create(table=table, incarnation=0, version=made.version, effects=["delete"], verdict="nobody")
    return made


def test_every_unapproved_commit_that_awaits_acknowledgement_is_listed_across_tables_and_days() -> None:
    table, hidden = delta(name="sales"), delta(name="hidden")
    commit(table, operation="DELETE")
    for back in range(9):
        unapproved(table, back=10 + back)
    unapproved(hidden)
    Commit.objects.filter(table=table, version=9).update(committed_at=None)
    person = factories.person_with("viewer", root=table.root)
    done = unapproved(table)
    acknowledged = {"acknowledged_at": NOON, "acknowledged_by": person, "reason": "in order"}
    Explanation.objects.filter(table=table, version=done.version).update(**acknowledged)
    client = browser(person)
    home = client.get("/").content.decode()
    assert home.count('href="/tables/commits/?kind=unapproved"') == 2
    assert ">9 commits to acknowledge</a>" in home
    page = client.get("/tables/commits/?kind=unapproved")
    assert [row["commit"].version for row in page.context["rows"]] == list(range(9, 0, -1)), "the last found first"
    text = page.content.decode()
    assert "<h1>Commits awaiting acknowledgement</h1>" in text
    assert "They await acknowledgement. Open one to see why, and to acknowledge it." in text
    assert "concepts/#unapproved-commits" in text
    assert "They await acknowledgement" not in client.get("/tables/commits/").content.decode()
    day = (NOON - timedelta(days=12)).date()
    of_day = client.get(f"/tables/commits/?kind=unapproved&day={day}")
    assert [row["commit"].version for row in of_day.context["rows"]] == [3]


def test_unapproved_commits_are_listed_in_pages_by_when_they_were_found() -> None:
    table, other = delta(), delta()
    made = [unapproved(each, back=back) for back, each in enumerate((table, other, table, other, table))]
    Commit.objects.filter(pk=made[1].pk).update(committed_at=None)
    for at, of in enumerate((3, 0, 4, 1, 2)):
        mine = Explanation.objects.filter(table=made[of].table, version=made[of].version)
        mine.update(found_at=NOON - timedelta(hours=at))
    person = factories.person_with("viewer")
    first = commits.awaiting_page(person, 2)
    second = commits.awaiting_page(person, 2, first.next or "")
    third = commits.awaiting_page(person, 2, second.next or "")
    assert [each.pk for page in (first, second, third) for each in page.rows] == [made[of].pk for of in (3, 0, 4, 1, 2)]
    assert third.next is None
    assert commits.awaiting_page(person, 2, third.previous or "").rows == second.rows
    assert commits.awaiting_page(person, 2, oldest_first=True).rows == [made[2], made[1]]
    assert commits.awaiting_page(factories.person_with("viewer", root=other.root), 9).rows == [made[3], made[1]]


@pytest.mark.parametrize("oldest_first", [False, True])
def test_a_page_of_unapproved_commits_is_read_from_an_index(oldest_first: bool) -> None:
    unapproved(delta())
    person = factories.person_with("viewer")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
    with CaptureQueriesContext(connection) as asked:
        page = commits.awaiting_page(person, 1, oldest_first=oldest_first)
    (found,) = (query["sql"] for query in asked if "found_at" in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"explain {found}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert len(page.rows) == 1
    assert "explanation_open" in plan
    assert "Sort" not in plan


def test_commits_are_listed_oldest_first_for_who_wants_it() -> None:
    table = delta(name="sales")
    for _ in range(30):
        commit(table)
    person = factories.person_with("viewer")
    client = browser(person)
    lists.arrange(person, COMMITS, ["rows"], "oldest", 25)
    page = client.get("/tables/commits/")
    following = page.context["page"]
    versions = [row["commit"].version for row in page.context["rows"]]
    assert (versions, following["next_text"], following["previous_text"]) == (list(range(25)), "Later", "Earlier")
    rest = browser(factories.person_with("viewer")).get(f"/tables/commits/{following['next_url']}")
    assert [row["commit"].version for row in rest.context["rows"]] == list(range(25, 30))


def test_home_has_the_sizes_that_it_draws_as_a_table_and_leads_to_the_history_of_those_days() -> None:
    table = delta(size_bytes=1_000, name="sales")
    commit(table, back=1, size=300)
    page = browser(factories.person_with("viewer")).get("/").content.decode()
    first, yesterday, before = ((NOON - timedelta(days=back)).date() for back in (30, 1, 2))
    assert f"/tables/{table.pk}/history/?since={first}" in page
    lines = re.findall(r'<th scope="row">([0-9-]+|today, now)</th>\s*<td class="n">([^<]*)</td>', page)
    assert (len(lines), lines[0][0], lines[-1][0]) == (31, "today, now", str(first))
    assert (dict(lines)[str(yesterday)], dict(lines)[str(before)]) == ("1,000 B", "700 B")


def test_home_leads_from_each_day_to_its_commits() -> None:
    commit(delta(name="sales"), operation="DELETE", rows=-1_234)
    page = browser(factories.person_with("viewer")).get("/").content.decode()
    address = f"/tables/commits/?day={datetime.now(UTC).date()}"
    assert page.count(f'href="{address}"') == 4, "of three drawings and their table"
    assert f"{address}&amp;kind=removal" in page
    assert "0 in, 1,234 out" in page
    assert 'class="kind-removal"' in page
    assert "style=" not in page
