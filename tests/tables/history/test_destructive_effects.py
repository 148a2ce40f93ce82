"""A commit is destructive by what its actions do, in every place that shows it; its name gives the word alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from django.db import connection
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.dispatcher.attribution import explain_commits
from jobs.web.jobs.queries import destructive_lately
from tables.catalog import attributions
from tables.catalog.adding import additions
from tables.history.destructive_effects import words_of
from tables.history.operations import destructive
from tables.history.queries import HistoryFilter, history_page
from tables.models import Commit, Explanation, Root, Table, TableDay
from tables.record import commit_rows
from tables.rules.commit_kinds import KIND_SQL, CommitKind, of_kind
from tables.sync import table as syncing
from tests.clients import browser, caller
from tests.factories import lakes
from tests.tables.deltalog.replay.test_removed_rows import quiet, without_flag
from tests.tables.deltalog.writing import Action, LogWriter, add, info, metadata, remove

pytestmark = pytest.mark.django_db


@pytest.fixture
def log(lake: Path) -> LogWriter:
    log = LogWriter(lake / "orders")
    log.create(add("a"), add("b"), add("u", rows=None))
    return log


@pytest.fixture
def orders(admin: Actor, root: Root, log: LogWriter) -> Table:
    return additions.add_table(admin, str(log.table)).table


def effects(table: Table) -> dict[int, str]:
    return {each.version: words_of(each.effects) for each in Explanation.objects.filter(table=table)}


def kinds(table: Table) -> dict[int, str]:
    """By the sums and by the filter, which agree."""
    with connection.cursor() as cursor:
        cursor.execute(f"select version, {KIND_SQL} from tables_commit where table_id = %s", [table.pk])
        summed = dict(cursor.fetchall())
    listed = [(c.version, kind.value) for kind in CommitKind for c in Commit.objects.filter(of_kind(kind), table=table)]
    assert len(listed) == len(summed)
    assert dict(listed) == summed
    return summed


def shown_as_destructive(table: Table) -> list[int]:
    """By the filter of the history, the marks of drawings and the history's lines, which agree."""
    listed = [commit.version for commit in history_page(table, HistoryFilter(operation="destructive"), 100).rows][::-1]
    assert listed == [mark.version for mark in destructive(table)]
    assert listed == [version for version, words in sorted(effects(table).items()) if words]
    return listed


CASES: dict[str, tuple[list[Action], str | None, str]] = {
    "null": ([{"commitInfo": {"operation": None}}, remove("a")], "removes rows", "removal"),
    "no commitInfo": ([remove("a")], "removes rows", "removal"),
    "commitInfo at the end": ([remove("a"), info("DELETE")], "deletes rows", "removal"),
    "UNKNOWN": ([info("UNKNOWN"), remove("a"), add("n", rows=9)], "removes rows", "change"),
    "another engine's word": ([info("ROW DELETION"), remove("u"), add("n")], "removes rows", "change"),
    "WRITE": ([info("WRITE", operationParameters={"mode": "Append"}), remove("a")], "removes rows", "removal"),
    "MERGE": ([info("MERGE"), remove("a"), add("n")], "merges rows", "change"),
    "UPDATE": ([info("UPDATE"), remove("a"), add("n")], "changes rows", "change"),
    "overwrite": ([info(operationParameters={"mode": "Overwrite"}), remove("a"), add("n")], "overwrites rows", "change"),
    "OPTIMIZE": ([info("OPTIMIZE"), remove("a")], "removes rows", "removal"),
    "FSCK": ([info("FSCK"), remove("a")], "drops missing files and their rows", "removal"),
    "VACUUM START": ([info("VACUUM START")], "removes old files", "upkeep"),
    "an OPTIMIZE that doesn't say, covered": (
        [info("OPTIMIZE"), without_flag(remove("a")), without_flag(add("n"))], None, "upkeep",
    ),
    "an OPTIMIZE that changes data, covered": ([info("OPTIMIZE"), remove("a"), add("n")], "replaces rows", "change"),
    "a REORG that says it of added files": (
        [info("REORG"), without_flag(remove("a")), add("n")], "replaces rows", "change",
    ),
    "an FSCK that changes data, covered": (
        [info("FSCK"), remove("a"), add("n")], "drops missing files and their rows", "change",
    ),
    "an unknown word that doesn't say, covered": (
        [info("Manual Update"), without_flag(remove("a")), without_flag(add("n"))], "replaces rows", "change",
    ),
    "an unknown word, covered": ([info("Manual Update"), remove("a"), add("n")], "replaces rows", "change"),
    "null, covered": ([{"commitInfo": {"operation": None}}, remove("a"), add("n", rows=11)], "replaces rows", "change"),
    "CLONE, covered": ([info("CLONE"), remove("a"), add("n")], "replaces rows", "change"),
    "rows that lie nowhere": ([info("OPTIMIZE"), quiet(remove("u"))], "removes rows", "removal"),
    "a MERGE that only inserts": ([info("MERGE"), add("n")], None, "change"),
    "a DELETE of no row": ([info("DELETE")], None, "removal"),
    "an overwrite of nothing": ([info(operationParameters={"mode": "Overwrite"}), add("n")], None, "change"),
    "a RESTORE that only adds": ([info("RESTORE"), add("n")], "restores an earlier version", "change"),
    "a DELETE that changes no data": ([info("DELETE"), quiet(remove("a")), quiet(add("n"))], None, "upkeep"),
    "an overwrite that changes no data": (
        [info(operationParameters={"mode": "Overwrite"}), quiet(remove("u")), quiet(add("n"))], None, "upkeep",
    ),
    "an unknown word that changes no data": ([info("REWRITE"), quiet(remove("u")), quiet(add("n"))], None, "upkeep"),
    "an append": ([info("WRITE"), add("n")], None, "append"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_place_judges_by_the_actions(orders: Table, log: LogWriter, case: str) -> None:
    actions, words, kind = CASES[case]
    log.commit(1, *actions)
    table = syncing.sync(orders.pk)
    assert effects(table) == ({1: words} if words else {})
    assert shown_as_destructive(table) == ([1] if words else [])
    assert kinds(table)[1] == kind
    day = TableDay.objects.get(table=table)
    assert day.removals == (kind == "removal")


def test_a_repair_by_another_engine_is_an_unapproved_commit(admin: Actor, root: Root, lake: Path) -> None:
    place = lakes.delta(lake / "broken", {"id": [1, 2, 3]})
    lakes.delta(place, {"id": [4, 5]}, mode="append")
    table = additions.add_table(admin, str(place)).table
    witness = DeltaTable(str(place))
    lost = next(uri for uri in witness.file_uris() if Path(uri.removeprefix("file://")).exists())
    count = witness.get_add_actions(flatten=True)["num_records"].to_pylist()[witness.file_uris().index(lost)]
    Path(lost.removeprefix("file://")).unlink()
    witness.repair()
    table = syncing.sync(table.pk)
    explain_commits()
    commit = Commit.objects.get(table=table, version=2)
    assert (commit.operation, commit.rows_changed, commit.removal) == ("FSCK", -count, "lost")
    assert shown_as_destructive(table) == [2]
    assert Explanation.objects.get(table=table).verdict == "nobody"
    assert admin.person is not None
    [row] = destructive_lately(Person.objects.get(pk=admin.person.pk))
    assert (row["operation"], row["rows"], row["is_open"]) == ("FSCK", count, True)


def test_a_commit_without_a_name_is_shown_as_one(orders: Table, log: LogWriter, admin: Actor) -> None:
    log.commit(1, remove("a"))
    syncing.sync(orders.pk)
    assert admin.person is not None
    html = browser(Person.objects.get(pk=admin.person.pk)).get(f"/tables/{orders.pk}/history/").content.decode()
    assert '<span class="lv-strong">not recorded</span>' in html
    assert "v1 an unnamed operation" in html


@pytest.mark.parametrize(
    ("lines", "removal"),
    [(b'{"remove":{"path":"u"', ""), (b'{"remove":{"path":"a","dataChange":true}}\n{"add":{"path"', "lost")],
)
def test_what_was_not_read_is_unknown(orders: Table, log: LogWriter, lines: bytes, removal: str) -> None:
    log.raw(1, b'{"commitInfo":{"operation":"OPTIMIZE"}}\n' + lines)
    syncing.sync(orders.pk)
    assert Commit.objects.get(table=orders, version=1).removal == removal


def forget(table: Table, **more: Any) -> None:
    """Makes the rows of its commits those of a release that didn't read what removals do."""
    Commit.objects.filter(table=table).update(removal="", rows_removed=None, rows_changed=None, **more)
    Table.objects.filter(pk=table.pk).update(read_by=0)
    Explanation.objects.filter(table=table).delete()


def test_commits_that_an_older_release_has_read_are_judged_by_the_next_sync(orders: Table, log: LogWriter) -> None:
    log.commit(1, info("FSCK", clientVersion="delta-rs.0.17.0"), remove("a"))
    log.commit(2, info("OPTIMIZE"), quiet(remove("b")), quiet(add("n")))
    table = syncing.sync(orders.pk)
    Table.objects.filter(pk=table.pk).update(added_at="2000-01-01T00:00:00Z")
    forget(table, engine_info="")
    assert kinds(table) == {0: "other", 1: "upkeep", 2: "upkeep"}
    table = syncing.sync(orders.pk)
    assert effects(table) == {1: "drops missing files and their rows"}
    assert kinds(table) == {0: "append", 1: "removal", 2: "upkeep"}
    commit = Commit.objects.get(table=table, version=1)
    assert (commit.rows_changed, commit.engine_info) == (-10, "delta-rs.0.17.0")
    assert table.read_by == commit_rows.RULES
    assert (table.rewritten, table.incarnation) == (None, 0)


def found_by_other_rules(table: Table, **found: list[str]) -> None:
    """Attributions as a release with other rules left them (`v3=["merge"]`), and nothing of its commits read otherwise."""
    Explanation.objects.filter(table=table).delete()
    Explanation.objects.bulk_create(
        Explanation(table=table, incarnation=0, version=int(name[1:]), effects=effects, verdict="nobody")
        for name, effects in found.items()
    )
    Table.objects.filter(pk=table.pk).update(read_by=0, added_at="2000-01-01T00:00:00Z")


def test_attributions_follow_the_rules_of_the_release_that_reads_a_log_again(
    orders: Table, log: LogWriter, admin: Actor
) -> None:
    log.commit(1, info("MERGE"), add("n"))
    log.commit(2, info("Manual Update"), remove("a"), add("m"))
    log.commit(3, info("DELETE"), remove("b"))
    log.commit(4, info("MERGE"), add("o"))
    table = syncing.sync(orders.pk)
    found_by_other_rules(table, v1=["merge"], v3=["delete"], v4=["merge"])
    attributions.acknowledge(admin, table, 4, "a load of ours")
    kept = dict(Explanation.objects.filter(version__in=[3, 4]).values_list("version", "pk"))
    syncing.sync(orders.pk)
    asked = {each.version: each for each in Explanation.objects.filter(table=table)}
    assert {version: each.effects for version, each in asked.items()} == {
        2: ["replaced_rows"],
        3: ["delete"],
        4: ["merge"],
    }
    assert asked[2].verdict == Explanation.Verdict.WAITING
    assert {version: asked[version].pk for version in kept} == kept


@pytest.mark.parametrize(
    "actions",
    [(remove("a"), add("m", rows=3)), (quiet(remove("a")), quiet(add("m", rows=3)))],
    ids=["changed", "said to be the same rows"],
)
def test_so_do_those_of_commits_whose_removed_rows_are_known_only_at_the_end(
    orders: Table, log: LogWriter, actions: tuple[Action, Action]
) -> None:
    """A checkpoint holds the files that a later commit removes."""
    first = [json.loads(line) for line in log.file(0).read_text().splitlines()]
    log.checkpoint(0, *(action for action in first if "commitInfo" not in action))
    log.commit(1, info("Manual Update"), *actions)
    table = syncing.sync(orders.pk)
    found_by_other_rules(table)
    syncing.sync(orders.pk)
    assert [each.version for each in Explanation.objects.filter(table=table)] == [1]


def test_what_a_log_has_no_more_stays_judged_by_its_name(orders: Table, log: LogWriter) -> None:
    log.commit(1, info("DELETE"), remove("a"))
    log.commit(2, info("WRITE"), add("n"))
    table = syncing.sync(orders.pk)
    forget(table)
    log.checkpoint(2, *_without_a(log))
    for version in (0, 1):
        log.file(version).unlink()
    syncing.sync(orders.pk)
    assert dict(Commit.objects.values_list("version", "removal")) == {0: "", 1: "", 2: "none"}
    assert [c.version for c in history_page(table, HistoryFilter(operation="destructive"), 9).rows] == [1]


def _without_a(log: LogWriter) -> list[Action]:
    """What the table is after both commits, for a checkpoint."""
    first = [json.loads(line) for line in log.file(0).read_text().splitlines()]
    kept = [action for action in first if "commitInfo" not in action and action.get("add", {}).get("path") != "a"]
    return [*kept, add("n")]


PARTITIONED = [add("p=1/a", rows=2, partition={"day": "1"}), add("p=1/b", rows=3, partition={"day": "1"})]
GONE = [remove("p=1/a"), remove("p=1/b")]


@pytest.fixture
def parted(admin: Actor, root: Root, lake: Path) -> tuple[Table, LogWriter]:
    log = LogWriter(lake / "parted")
    log.create(*PARTITIONED, add("p=2/c", rows=4), add("p=3/d", rows=None), partition=["day"])
    return additions.add_table(admin, str(log.table)).table, log


def of_version(table: Table, version: int = 1) -> dict[str, Any]:
    answer: dict[str, Any] = caller("viewer").get(f"/tables/{table.pk}/commits/{version}").json()
    return answer


@pytest.mark.parametrize(
    ("operation", "metrics", "rows"),
    [
        ("UPDATE", {"numUpdatedRows": "3"}, 3),
        ("UPDATE", {"num_updated_rows": "3"}, 3),
        ("MERGE", {"numTargetRowsInserted": "1", "numTargetRowsUpdated": "2", "numTargetRowsDeleted": "1"}, 3),
        ("UPDATE", {}, None),
    ],
)
def test_the_rows_of_an_update_are_recorded_where_its_metrics_tell_them(
    parted: tuple[Table, LogWriter], operation: str, metrics: dict[str, str], rows: int | None, admin: Actor
) -> None:
    """Its files have no statistics, as with deletion vectors."""
    table, log = parted
    added = add("p=3/e", rows=None, partition={"day": "3"})
    log.commit(1, info(operation, operationMetrics=metrics), remove("p=3/d"), added)
    syncing.sync(table.pk)
    Commit.objects.filter(table=table, version=1).update(committed_at=timezone.now())
    assert admin.person is not None
    person = Person.objects.get(pk=admin.person.pk)
    [row] = destructive_lately(person)
    assert (row["operation"], row["rows"]) == (operation, rows)
    html = browser(person).get(f"/tables/{table.pk}/commits/1/").content.decode()
    assert ("metrics record it" in html) is (rows is None)
    assert ("Version 1 changed 3 rows" in html) is (operation == "UPDATE" and rows == 3)


@pytest.mark.parametrize("metric", ["numDeletedRows", "num_deleted_rows"])
def test_rows_gone_are_told_by_the_files_beside_what_the_writer_reports(
    parted: tuple[Table, LogWriter], metric: str, admin: Actor
) -> None:
    table, log = parted
    log.commit(1, info("DELETE", operationMetrics={metric: "0", "numRemovedFiles": "2"}), *GONE)
    syncing.sync(table.pk)
    told = of_version(table)
    assert (told["rows_removed"], told["rows_changed"], told["rows_reported"]) == (5, -5, 0)
    assert admin.person is not None
    client = browser(Person.objects.get(pk=admin.person.pk))
    html = client.get(f"/tables/{table.pk}/commits/1/").content.decode()
    assert "the writer’s metrics report 0: 5 apart" in html
    assert "Version 1 removed 5 rows" in html
    assert "reported 0" in client.get(f"/tables/{table.pk}/history/").content.decode()


def test_a_writer_that_reports_what_its_files_say_is_not_named(parted: tuple[Table, LogWriter], admin: Actor) -> None:
    table, log = parted
    log.commit(1, info("DELETE", operationMetrics={"numDeletedRows": "5"}), *GONE)
    syncing.sync(table.pk)
    assert (of_version(table)["rows_changed"], of_version(table)["rows_reported"]) == (-5, -5)
    assert admin.person is not None
    html = browser(Person.objects.get(pk=admin.person.pk)).get(f"/tables/{table.pk}/commits/1/").content.decode()
    assert "metrics report" not in html


@pytest.mark.parametrize(
    ("metrics", "changed"), [({"numDeletedRows": "0"}, None), ({}, None), ({"numDeletedRows": "6"}, -6)]
)
def test_unknown_rows_stay_unknown_beside_a_report_of_none(
    parted: tuple[Table, LogWriter], metrics: dict[str, str], changed: int | None, admin: Actor
) -> None:
    table, log = parted
    log.commit(1, info("DELETE", operationMetrics=metrics), remove("p=3/d"))
    syncing.sync(table.pk)
    assert of_version(table)["rows_changed"] == changed
    assert Commit.objects.get(table=table, version=1).removal == "lost"
    assert admin.person is not None
    html = browser(Person.objects.get(pk=admin.person.pk)).get(f"/tables/{table.pk}/commits/1/").content.decode()
    assert ("the writer’s metrics report 0, though files were removed" in html) is (metrics == {"numDeletedRows": "0"})


def field(name: str, number: int, **more: Any) -> dict[str, Any]:
    mapped = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return {"name": name, "type": "long", "nullable": True, "metadata": mapped} | more


def lines(amount: str, number: int) -> dict[str, Any]:
    """A column of lists of structs."""
    element = {"type": "struct", "fields": [field("sku", 3), field(amount, number)]}
    return field("lines", 2, type={"type": "array", "elementType": element, "containsNull": True})


@pytest.mark.parametrize(
    ("later", "words"),
    [
        ([field("number", 1), lines("amount", 4)], ""),
        ([field("id", 1), lines("price", 4)], ""),
        ([field("id", 1), lines("amount", 4), field("new", 5)], ""),
        ([field("id", 5), lines("amount", 4)], "drops columns"),
        ([field("id", 1), lines("amount", 5)], "drops columns"),
        ([field("id", 1)], "drops columns"),
    ],
    ids=["renamed", "renamed inside", "added", "dropped and added anew", "dropped and added anew inside", "dropped"],
)
def test_a_mapped_column_is_dropped_with_its_number(
    admin: Actor, root: Root, lake: Path, later: list[dict[str, Any]], words: str
) -> None:
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    log = LogWriter(lake / "mapped")
    log.commit(0, info("CREATE TABLE"), protocol, _mapped([field("id", 1), lines("amount", 4)]))
    table = additions.add_table(admin, str(log.table)).table
    log.commit(1, info("RENAME COLUMN"), _mapped(later))
    assert effects(syncing.sync(table.pk)) == ({1: words} if words else {})


def _mapped(fields: list[dict[str, Any]]) -> Action:
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "5"}
    return metadata(schema=json.dumps({"type": "struct", "fields": fields}), **configuration)
