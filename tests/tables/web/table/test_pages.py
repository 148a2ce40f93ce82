from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from django.test import Client
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.models import Read
from tables.catalog import entries, light_turns
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.history import layout_at
from tables.models import Commit, Explanation, Root, SyncTimes, Table
from tables.rules import health
from tables.sync import table as syncing
from tables.web.table import acts, commit_lines, health_findings
from tests import factories
from tests.clients import browser
from tests.factories import lakes

Write = Callable[..., Path]
TABS = ("", "schema/", "history/", "protocol/", "layout/", "compare/", "commits/0/", "describe/")
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def ines(admin: Actor) -> Client:
    client = Client()
    assert admin.person is not None
    client.force_login(admin.person)
    return client


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    write(partition_by=["country"])
    write(mode="append", partition_by=["country"])
    return additions.add_table(admin, f"{root.uri}/orders").table


def configured(path: Path, properties: dict[str, str]) -> None:
    """Puts free properties into the first commit, as Spark takes them."""
    commit = path / "_delta_log" / f"{0:020}.json"
    text = commit.read_text()
    assert '"configuration":{}' in text
    commit.write_text(text.replace('"configuration":{}', f'"configuration":{json.dumps(properties)}'))


def page(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.content[-2000:]
    return answer.content.decode()


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_of_a_table_is_a_page(ines: Client, orders: Table, tab: str) -> None:
    html = page(ines, f"/tables/{orders.pk}/{tab}")
    assert "orders" in html
    assert "style=" not in html


def test_the_overview_says_what_the_table_is(ines: Client, orders: Table) -> None:
    html = page(ines, f"/tables/{orders.pk}/")
    for text in (orders.path, "delta.minReaderVersion", str(orders.table_id), "country"):
        assert text in html


def test_the_overview_begins_with_what_people_look_for(orders: Table) -> None:
    client = browser(factories.person_with("operator"))
    html = page(client, f"/tables/{orders.pk}/")
    places = [html.index(f'id="{name}"') for name in ("h-health", "h-columns", "h-sample", "h-lately", "h-prop")]
    assert places == sorted(places)
    columns, lately = html[places[1] : places[2]], html[places[3] : places[4]]
    assert re.findall(r'lv-mono lv-tiny lv-break">(\w+)</th>', columns) == ["id", "country"]
    assert '<span class="lv-tag">partition</span>' in columns
    assert [f"/tables/{orders.pk}/commits/{version}/" in lately for version in (1, 0)] == [True, True]
    assert "WRITE" in lately
    assert f'hx-get="/tables/{orders.pk}/rows/?limit=20"' in html
    assert not Read.objects.exists()  # nobody has asked for rows


def test_who_may_not_read_rows_is_offered_none(orders: Table) -> None:
    assert "h-sample" not in page(browser(factories.person_with("admin")), f"/tables/{orders.pk}/")


def test_a_wide_table_shows_its_first_columns_and_how_many_there_are(admin: Actor, root: Root, write: Write) -> None:
    write(name="wide", table=pa.table({f"c{n:02}": [n] for n in range(30)}))
    wide = additions.add_table(admin, f"{root.uri}/wide").table
    html = page(browser(factories.person_with("viewer")), f"/tables/{wide.pk}/")
    assert "30 columns" in html
    assert "the first 12;" in html
    named = re.findall(r">(c\d\d)<", html)  # an id on the page may hold these letters as well
    assert (named[0], named[-1], len(named)) == ("c00", "c11", 12)


def test_a_foreign_commit_that_took_rows_away_offers_the_version_before_it(orders: Table) -> None:
    commits = Commit.objects.filter(table=orders)
    commits.filter(version=1).update(operation="DELETE", removal="lost", committed_at=timezone.now())
    client = browser(factories.person_with("operator"))
    newest = unescape(page(client, f"/tables/{orders.pk}/commits/1/"))
    assert f"/tables/{orders.pk}/restore/?version=0&reason=Undo+version+1+%28DELETE%29" in newest
    assert "Undo this commit…" in newest
    assert "Undo this commit" not in page(client, f"/tables/{orders.pk}/commits/0/")  # nothing lies before it
    form = unescape(page(client, f"/tables/{orders.pk}/restore/?version=0&reason=Undo+version+1+%28DELETE%29"))
    assert "Undo version 1 (DELETE)" in form
    Table.objects.filter(pk=orders.pk).update(version=2)
    later = page(client, f"/tables/{orders.pk}/commits/1/")
    assert "Restore to before it…" in later
    commits.filter(version=0).update(committed_at=timezone.now() - timedelta(days=60))
    assert "Restore to before it" not in page(client, f"/tables/{orders.pk}/commits/1/")  # Delta would refuse it


def test_a_job_s_commit_is_undone_on_its_job(orders: Table) -> None:
    made = factories.job("succeeded", table=orders, version=1)
    commits = Commit.objects.filter(table=orders, version=1)
    commits.update(operation="DELETE", removal="lost", committed_at=timezone.now(), job=made.pk)
    assert "Undo this commit" not in page(browser(factories.person_with("operator")), f"/tables/{orders.pk}/commits/1/")


def test_the_overview_says_what_each_finding_measured_and_where_to_look(ines: Client, orders: Table) -> None:
    facts = health.Facts(
        num_files=1000,
        small_files=780,
        files_with_vectors=420,
        files_with_statistics=940,
        largest_partition_bytes=50 * 2**30,
        median_partition_bytes=2**30,
        commits_since_checkpoint=1400,
        log_bytes=3 * 2**30,
        broken_entries=("00000000000000000001.json: cut",),
        unknown_features=("holograms",),
        recreated_at=timezone.now(),
        outside_files=3,
    )
    orders.health = [finding.as_json() for finding in health.findings(facts)]
    orders.save(update_fields=["health"])
    SyncTimes.objects.filter(pk=orders.pk).update(synced_at=timezone.now() - timedelta(days=5))
    html = re.sub(r"<[^>]+>", "", page(ines, f"/tables/{orders.pk}/"))
    for words in (
        "78.0% of files, limit 40.0% of files.",
        "42.0% of files, limit 30.0% of files.",
        "94.0% of files have them, limit 100.0% of files have them.",
        "50.0 ×, limit 10.0 ×.",
        "1,400 commits, limit 100 commits.",
        "3.00 GiB, limit 1.00 GiB.",
        "5 days, limit 2 days.",
        "1, limit 0.",
        "3, limit 0.",
    ):
        assert words in html
    orders.refresh_from_db()
    orders.layout = (orders.layout or {}) | {"most_small": "day = '2026-10-01'"}
    allowed = acts.acts_on(factories.person_with("operator"), orders, "")
    found = health_findings.findings(orders, {kind: allowed[kind] for kind in ("optimize", "reorg")})
    assert len(found) == len({finding["code"] for finding in found}) == 11
    mended = {finding["code"]: finding["mend"]["url"] for finding in found if finding["mend"]}
    at = f"/tables/{orders.pk}"
    filled = f"{at}/optimize/?predicate=day+%3D+%272026-10-01%27"
    assert mended == {"small_files": filled, "deletion_vectors": f"{at}/reorg/"}
    assert not any(finding["mend"] for finding in health_findings.findings(orders, {}))
    places = {finding["code"]: finding["look_at"]["url"] for finding in found if finding["look_at"]}
    assert places["skew"] == places["small_files"] == f"/tables/{orders.pk}/layout/"
    assert places["long_log"] == places["no_checkpoint"] == f"/tables/{orders.pk}/history/"


def test_an_act_that_would_do_nothing_is_greyed_with_its_reason(orders: Table) -> None:
    facts = health.Facts(num_files=150, small_files=150, small_alone=150, num_partitions=150)
    orders.health = [finding.as_json() for finding in health.findings(facts)]
    orders.save(update_fields=["health"])
    html = page(browser(factories.person_with("operator")), f"/tables/{orders.pk}/")
    assert (
        "100% of the files are smaller than 32 MiB and the only file of their partition (150 of 150 partitions)."
        in html
    )
    assert re.search(r"<button [^>]*disabled>Optimize…</button> It joins files of one partition only", html)
    assert "?predicate=" not in html
    viewer = page(browser(factories.person_with("viewer")), f"/tables/{orders.pk}/")
    assert "disabled>Optimize…" not in viewer, "it would be no act of theirs"


def test_the_history_lists_commits_and_what_can_be_restored(ines: Client, orders: Table) -> None:
    html = page(ines, f"/tables/{orders.pk}/history/")
    assert "2 of 2 versions can be read and restored" in html
    assert html.count("WRITE") >= 2
    assert "No commit matches" in page(ines, f"/tables/{orders.pk}/history/?operation=DELETE")


def test_the_charts_stand_where_the_history_begins_and_not_on_its_later_pages(ines: Client, orders: Table) -> None:
    first, later = (page(ines, f"/tables/{orders.pk}/history/{asked}") for asked in ("", "?before=1"))
    assert "<figure" in first
    assert "Size by version" in first
    assert "and charts<" not in first
    assert "<figure" not in later
    assert f'<a href="/tables/{orders.pk}/history/">Back to the newest commits and charts</a>' in later


def test_the_history_offers_the_operations_of_its_own_table(
    ines: Client, orders: Table, admin: Actor, write: Write
) -> None:
    other = additions.add_table(admin, str(write("other"))).table
    for version, operation in ((0, "CREATE TABLE"), (1, "WRITE")):
        Commit.objects.filter(table=orders, version=version).update(operation=operation)
    Commit.objects.filter(table=other).update(operation="x" * 5000)
    options = re.findall(r"<option[^>]*>([^<]*)", page(ines, f"/tables/{orders.pk}/history/?operation=WRITE"))
    assert options[-2:] == ["CREATE TABLE", "WRITE"]
    assert "x" * 101 not in page(ines, f"/tables/{other.pk}/history/")
    assert "<option selected>OPTIMIZE</option>" in page(ines, f"/tables/{orders.pk}/history/?operation=OPTIMIZE")


def test_the_timeline_marks_destructive_commits_and_names_them_in_its_table(ines: Client, orders: Table) -> None:
    Commit.objects.filter(table=orders, version=1).update(operation="DELETE", removal="lost")
    html = page(ines, f"/tables/{orders.pk}/history/")
    assert html.count('class="mark-dot" d="M') == 2  # the commit's and the legend's
    assert "no approved job</title>" in html
    Explanation.objects.create(table=orders, incarnation=0, version=1, effects=["DELETE"], verdict="approved")
    html = page(ines, f"/tables/{orders.pk}/history/")
    assert html.count('class="mark-dot" d="M') == 1
    assert f'<a href="/tables/{orders.pk}/commits/1/">v1</a>' in html


def test_two_versions_are_compared(ines: Client, orders: Table, write: Write) -> None:
    wider = pa.table({"id": [9], "country": ["DE"], "note": ["x"]})
    write(table=wider, mode="append", schema_mode="merge", partition_by=["country"])
    syncing.sync(orders.pk)
    html = page(ines, f"/tables/{orders.pk}/schema/?old=0&new=2")
    assert "added" in html
    assert "note" in html
    assert "Columns over time" in html
    assert "are the same" in page(ines, f"/tables/{orders.pk}/schema/?old=0&new=1")
    assert 'aria-label="From version" value="0"' in page(ines, f"/tables/{orders.pk}/schema/")


def test_two_versions_stand_side_by_side(ines: Client, orders: Table, write: Write) -> None:
    wider = pa.table({"id": [9], "country": ["DE"], "note": ["x"]})
    write(table=wider, mode="append", schema_mode="merge", partition_by=["country"])
    DeltaTable(orders.path).alter.set_table_properties({"delta.appendOnly": "true"})
    syncing.sync(orders.pk)
    text = re.sub(r"<[^>]+>|\s+", " ", page(ines, f"/tables/{orders.pk}/compare/?from=1&to=3"))
    for words in ("Versions 1 and 3", "Commits between 2", "Files added 1", "note", "delta.appendOnly", "not set"):
        assert words in re.sub(" +", " ", text), words
    same = page(ines, f"/tables/{orders.pk}/compare/?from=0&to=1")
    assert same.count("No differences.") == 2
    assert "The sums cover the commits" in page(ines, f"/tables/{orders.pk}/compare/?from=3&to=1")
    assert "Versions 2 and 3" in page(ines, f"/tables/{orders.pk}/compare/")
    for query, status in (("from=x&to=1", 400), ("from=0&to=9", 404), ("from=-1&to=1", 400)):
        page(ines, f"/tables/{orders.pk}/compare/?{query}", status)
    for place in ("history/", "schema/", "commits/1/"):
        assert f"/tables/{orders.pk}/compare/" in page(ines, f"/tables/{orders.pk}/{place}")


@pytest.mark.parametrize(
    ("address", "fault", "status"),
    [
        ("compare/?from=0&to=9999", "There is no version 9999: the newest is 1.", 404),
        ("compare/?from=9,999&to=1", "There is no version 9,999: the newest is 1.", 404),
        ("compare/?from=x&to=1", "A version is a whole number from 0 to 1.", 400),
        ("compare/?from=0&to=99999999999999999999", "There is no version 99999999999999999999: the newest is 1.", 404),
        ("schema/?version=2", "There is no version 2: the newest is 1.", 404),
        ("schema/?old=0&new=7", "There is no version 7: the newest is 1.", 404),
        ("schema/?old=-1&new=1", "A version is a whole number from 0 to 1.", 400),
        ("layout/?version=2", "There is no version 2: the newest is 1.", 404),
        ("layout/?version=<b>", "A version is a whole number from 0 to 1.", 400),
        ("protocol/?version=1.0", "A version is a whole number from 0 to 1.", 400),
        ("protocol/?version=2", "There is no version 2: the newest is 1.", 404),
    ],
)
def test_a_version_that_never_was_is_refused_at_its_field_and_the_page_stays(
    ines: Client, orders: Table, address: str, fault: str, status: int
) -> None:
    html = page(ines, f"/tables/{orders.pk}/{address}", status)
    assert f"{fault}</p>" in html
    assert "lv-field-error" in html
    assert 'aria-label="You are in"' in html, "it is the table's page"
    typed = address.rpartition("=")[2].replace("<b>", "&lt;b&gt;")
    assert f'value="{typed}"' in html or "from=" in address or "old=" in address


def test_a_version_whose_layout_is_gone_is_told_at_the_field(
    ines: Client, orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = layout_at.at

    def at(table: Table, version: int) -> dict[str, Any]:
        if version == 0:
            raise Problem(410, "version_gone", "Version 0 can’t be read any more.")
        return gone(table, version)

    monkeypatch.setattr(layout_at, "at", at)
    html = page(ines, f"/tables/{orders.pk}/layout/?version=0", 410)
    assert "Version 0 can’t be read any more.</p>" in html
    assert "Files by size" in html


def test_the_layout_draws_files_and_partitions(ines: Client, orders: Table) -> None:
    html = page(ines, f"/tables/{orders.pk}/layout/")
    assert "country=DE" in html
    assert "country=FR" in html
    assert 'role="img"' in html
    assert "version 0" in page(ines, f"/tables/{orders.pk}/layout/?version=0")


def test_a_commit_lists_its_files(ines: Client, orders: Table) -> None:
    html = page(ines, f"/tables/{orders.pk}/commits/1/")
    assert "Version 1 added 3 rows" in html
    assert html.count("+ add") == 2
    page(ines, f"/tables/{orders.pk}/commits/9/", 404)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('["(country#4088 = AT)"]', "(country = AT)"),
        ('["(a#1L > 1)","isnull(b#2)"]', "(a > 1) AND isnull(b)"),
        ("country = 'AT'", "country = 'AT'"),
        ("[]", ""),
        ("[cut", "[cut"),
        ("[1]", "[1]"),
        (None, ""),
    ],
)
def test_the_conditions_of_a_commit_are_one_line(written: str | None, shown: str) -> None:
    assert commit_lines.conditions_of(Commit(operation_parameters={"predicate": written})) == shown


def test_a_commit_lists_its_files_by_action_and_partition(ines: Client, orders: Table) -> None:
    DeltaTable(orders.path).delete("country = 'FR'")
    syncing.sync(orders.pk)
    address = f"/tables/{orders.pk}/commits/2/"
    assert page(ines, address).count("− remove") == 2
    assert "No file of this commit matches" in page(ines, f"{address}?action=add")
    assert page(ines, f"{address}?action=remove&column=country&value=fr").count("− remove") == 2
    assert "No file of this commit matches" in page(ines, f"{address}?column=country&value=DE")
    assert page(ines, f"{address}?action=odd&column=odd&value=").count("− remove") == 2
    assert page(ines, f"/tables/{orders.pk}/commits/1/?value=de").count("+ add") == 1


def test_a_commit_says_how_long_it_took_where_its_metrics_tell(ines: Client, orders: Table) -> None:
    for metrics, seconds in (({"executionTimeMs": "4118"}, 4.118), ({"execution_time_ms": "9"}, 0.009), ({}, None)):
        assert commit_lines.seconds_of(Commit(operation_metrics=metrics)) == seconds
    assert commit_lines.seconds_of(Commit(operation_metrics={"executionTimeMs": "-1"})) is None
    Commit.objects.filter(table=orders, version=1).update(operation_metrics={"executionTimeMs": "4118"})
    assert "<dt>Took</dt><dd>4 s</dd>" in page(ines, f"/tables/{orders.pk}/commits/1/")


def test_the_header_offers_a_restore_to_whom_may_ask_for_one(
    ines: Client, orders: Table, person: Callable[..., Person]
) -> None:
    assert f'href="/tables/{orders.pk}/restore/"' in page(ines, f"/tables/{orders.pk}/")
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    assert "/restore/" not in page(client, f"/tables/{orders.pk}/")


def test_the_layout_adds_up_and_names_the_largest_partition(ines: Client, orders: Table) -> None:
    html = page(ines, f"/tables/{orders.pk}/layout/")
    assert '<tfoot><tr><thscope="row">All</th><tdclass="n">4</td>' in "".join(html.split())
    assert "country=" in html[html.index("<dt>Largest</dt>") :].split("</dd>")[0]


def test_a_partition_column_may_be_called_items(ines: Client, admin: Actor, root: Root, write: Write) -> None:
    rows = pa.table({"id": [1, 2], "items": ["few", "many"]})
    write("boxes", table=rows, partition_by=["items"])
    boxes = additions.add_table(admin, f"{root.uri}/boxes").table
    layout = page(ines, f"/tables/{boxes.pk}/layout/")
    largest = layout[layout.index("<dt>Largest</dt>") :].split("</dd>")[0]
    assert "items=" in largest
    for kind in ("largest partitions", "partitions with the most rows"):
        listed = layout[layout.index(f"The {kind} as a table") :].split("</table>")[0]
        assert "items=few" in listed
        assert "items=many" in listed
    every = page(ines, f"/tables/{boxes.pk}/partitions/")
    assert "items=few" in every
    assert "items=many" in every


@pytest.mark.parametrize(
    ("operation", "rows", "files", "title"),
    [
        ("DELETE", -1, 0, "Version 7 removed 1 row"),
        ("WRITE", 2_000, 1, "Version 7 added 2,000 rows"),
        ("CONVERT", 5, 1, "Version 7 made 1 parquet file a Delta table"),
        ("CONVERT", None, 1_200, "Version 7 made 1,200 parquet files a Delta table"),
        ("OPTIMIZE", 0, 3, "Version 7: OPTIMIZE"),
        ("", None, None, "Version 7: an unnamed operation"),
    ],
)
def test_the_title_of_a_commit_counts_as_a_person_does(
    operation: str, rows: int | None, files: int | None, title: str
) -> None:
    commit = Commit(version=7, operation=operation, rows_changed=rows, files_added=files)
    assert commit_lines.title_of(commit) == title


def test_a_parquet_directory_has_one_tab_and_a_way_to_convert(
    ines: Client, root: Root, lake: Path, admin: Actor
) -> None:
    lakes.parquet(lake / "raw" / "x.parquet", {"id": [1]})
    table = additions.add_table(admin, f"{lake}/raw").table
    html = page(ines, f"/tables/{table.pk}/")
    assert "Convert it to Delta" in html
    assert f"/tables/{table.pk}/schema/" not in html
    page(ines, f"/tables/{table.pk}/layout/", 409)


def test_a_missing_table_says_so_and_keeps_its_pages(ines: Client, orders: Table, lake: Path) -> None:
    shutil.rmtree(lake / "orders")
    ines.post(f"/tables/{orders.pk}/sync/")
    assert "The directory went missing" in page(ines, f"/tables/{orders.pk}/")
    for tab in TABS:
        page(ines, f"/tables/{orders.pk}/{tab}")


def test_a_moved_table_is_pointed_to(ines: Client, orders: Table, lake: Path, admin: Actor) -> None:
    (lake / "orders").rename(lake / "new_orders")
    additions.add_table(admin, f"{lake}/new_orders")
    syncing.sync(orders.pk)
    assert f"{lake}/new_orders" in page(ines, f"/tables/{orders.pk}/")


def test_tables_are_added_by_path(ines: Client, root: Root, write: Write) -> None:
    path = write("new")
    answer = ines.post("/tables/add/", {"path": str(path)})
    assert answer.status_code == 302
    assert answer["Location"] == f"/tables/{Table.objects.get().pk}/"
    refused = ines.post("/tables/add/", {"path": "/etc"})
    assert refused.status_code == 403
    assert "is not below a root" in refused.content.decode()


def test_a_scan_is_asked_for_awaited_and_ticked(ines: Client, root: Root, write: Write) -> None:
    for name in ("a", "b"):
        write(name)
    assert ines.post(f"/tables/roots/{root.pk}/scan/").status_code == 302
    assert "hx-trigger" in page(ines, f"/tables/roots/{root.pk}/")
    assert light_turns.do_next() is True
    html = page(ines, f"/tables/roots/{root.pk}/?part=1")
    assert 'hx-get="/tables/roots' not in html
    assert html.count('type="checkbox"') == 2
    answer = ines.post(f"/tables/roots/{root.pk}/", {"path": [f"{root.uri}/a", f"{root.uri}/b"]})
    assert answer.status_code == 302
    assert Table.objects.count() == 2
    assert "2 tables added; their logs are being read" in page(ines, answer["Location"])
    read_by_and_by(ines)
    refused = ines.post(f"/tables/roots/{root.pk}/", {"path": ["/etc"]})
    assert refused.status_code == 400


def read_by_and_by(ines: Client) -> None:
    """What was ticked can be looked at before its log was read, and is read by the light worker."""
    for table in Table.objects.all():
        assert (table.version, table.synced_at) == (None, None)
        for tab in TABS:
            assert ines.get(f"/tables/{table.pk}/{tab}").status_code in {200, 404, 422}, tab
        assert "being read" in page(ines, f"/tables/{table.pk}/")
    assert light_turns.do_next() is True
    while light_turns.do_next():
        pass
    assert {table.version for table in Table.objects.all()} == {0}


def test_the_list_narrows_and_swaps(ines: Client, orders: Table) -> None:
    assert "orders" in page(ines, "/tables/?q=ord")
    assert "No matching tables" in page(ines, "/tables/?q=no_such_table")
    assert "orders" in page(ines, f"/tables/?format=delta&root={orders.root_id}&order=-size&stale=")
    part = ines.get("/tables/?q=ord", headers={"HX-Request": "true", "HX-Target": "found"}).content.decode()
    assert part.lstrip().startswith('<div id="found"')


def test_an_empty_catalog_says_how_to_fill_it(ines: Client) -> None:
    assert "No tables yet" in page(ines, "/tables/")


def test_hostile_texts_are_shown_as_text(ines: Client, admin: Actor, root: Root, lake: Path, write: Write) -> None:
    name = f"a{HOSTILE}".replace("/", "_")
    hostile = pa.table({HOSTILE: ["x"], "p": [HOSTILE]})
    path = write(name, table=hostile, partition_by=["p"], description=HOSTILE)
    configured(path, {"user.note": HOSTILE, HOSTILE: "x"})
    info = '{"commitInfo":{"operation":"%s","operationParameters":{"%s":"%s"},"userMetadata":"%s"}}' % ((HOSTILE,) * 4)
    (path / "_delta_log" / f"{1:020}.json").write_text(info)
    table = additions.add_table(admin, str(path)).table
    entries.update_table(admin, table, owner=HOSTILE, description=HOSTILE, tags=[HOSTILE])
    for tab in (*TABS, "commits/1/", "schema/?old=0&new=1"):
        assert "<script>alert" not in page(ines, f"/tables/{table.pk}/{tab}")
    for address in ("/tables/", "/tables/?q=script", f"/tables/?tag={HOSTILE}&order={HOSTILE}&q={HOSTILE}"):
        assert "<script>alert" not in page(ines, address)


def test_secrets_in_properties_are_masked(ines: Client, admin: Actor, root: Root, write: Write) -> None:
    path = write("s")
    configured(path, {"fs.s3a.secret.key": "hunter2", "url": "jdbc:x://u:hunter2@h/db"})
    table = additions.add_table(admin, str(path)).table
    for tab in ("", "commits/0/", "history/"):
        assert "hunter2" not in page(ines, f"/tables/{table.pk}/{tab}")
    assert "hunter2" not in str(Table.objects.filter(pk=table.pk).values().get())


def test_a_stranger_finds_nothing(orders: Table, person: Callable[..., Person], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    elsewhere = roots.add_root(Actor.system("test"), "other", str(tmp_path / "other"))
    client = Client()
    client.force_login(person("zoe", Role.OPERATOR, Role.ADMIN, root=elsewhere))
    for tab in TABS:
        page(client, f"/tables/{orders.pk}/{tab}", 404)
    assert orders.path not in page(client, "/tables/?q=orders")
    for act in ("sync", "hide"):
        assert client.post(f"/tables/{orders.pk}/{act}/").status_code == 404
    page(client, f"/tables/roots/{orders.root_id}/", 404)


def test_a_viewer_may_look_and_not_act(orders: Table, person: Callable[..., Person]) -> None:
    client = Client()
    client.force_login(person("vic", Role.VIEWER))
    assert "Sync</button>" not in page(client, f"/tables/{orders.pk}/")
    for address in (f"/tables/{orders.pk}/sync/", f"/tables/{orders.pk}/hide/", "/tables/add/"):
        assert client.post(address, {"path": "/x"}).status_code == 403


@pytest.mark.parametrize(
    "address",
    [
        "/tables/",
        "/tables/?q=t",
        "/tables/{0}/",
        "/tables/{0}/schema/",
        "/tables/{0}/history/",
        "/tables/{0}/layout/",
        "/tables/{0}/commits/0/",
    ],
)
def test_queries_do_not_grow_with_the_catalog(
    ines: Client, orders: Table, admin: Actor, write: Write, address: str
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    url = address.format(orders.pk)
    page(ines, url)
    with CaptureQueriesContext(connection) as few:
        page(ines, url)
    for place in range(12):
        write(mode="append", partition_by=["country"])
        additions.add_table(admin, str(write(f"t{place}")))
    syncing.sync(orders.pk)
    with CaptureQueriesContext(connection) as many:
        page(ines, url)
    assert len(many) == len(few)
    assert len(many) <= 26  # one for the rules that protect it


def test_the_history_of_an_earlier_table_can_still_be_read(
    ines: Client, orders: Table, lake: Path, write: Write
) -> None:
    shutil.rmtree(lake / "orders")
    write(rows=1)
    syncing.sync(orders.pk)
    newest = page(ines, f"/tables/{orders.pk}/history/")
    assert newest.count('class="lv-name"') == 1
    assert re.search(r'\?incarnation=0">Earlier table, until\s+<time datetime="[^"]+" title="[^"]* UTC', newest)
    earlier = page(ines, f"/tables/{orders.pk}/history/?incarnation=0")
    assert earlier.count('class="lv-name"') == 2
    assert "earlier table at this location" in earlier
    assert "Version 1 added 3 rows" in page(ines, f"/tables/{orders.pk}/commits/1/?incarnation=0")
    page(ines, f"/tables/{orders.pk}/commits/1/", 404)


def test_a_job_leads_to_its_commit_in_the_table_that_it_changed(
    ines: Client, orders: Table, lake: Path, write: Write
) -> None:
    job = uuid.uuid4()
    Commit.objects.filter(table=orders, version=0).update(job=job)
    shutil.rmtree(lake / "orders")
    write(rows=1)
    syncing.sync(orders.pk)
    of_job, of_now = f"/tables/{orders.pk}/commits/0/?job={job}", f"/tables/{orders.pk}/commits/0/?job={uuid.uuid4()}"
    assert "Version 0 added 1 row" not in page(ines, of_job)
    assert "Version 0 added 1 row" in page(ines, of_now)
    assert "Version 0 added 1 row" in page(ines, f"/tables/{orders.pk}/commits/0/?job=7")
