"""Checks of a table's files in storage: what is found stays with the table until a later look or version says otherwise."""

from __future__ import annotations

import json
import shutil
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from console.audit.actor import Actor
from console.audit.models import Event
from jobs.commands.delete.rules import Delete
from jobs.commands.restore.rules import Restore
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.models import Read
from jobs.reads import file_check
from jobs.requests.asking import request
from jobs.targets import stored_files
from jobs.worker import light_work, read_executor
from jobs.worker.claims import claim_preview
from jobs.worker.execution import Execution, work
from tables.deltalog.read import data_files
from tables.history.reachability import TableReach, joined
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import Caller, browser, caller
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db


@pytest.fixture
def sales(lake: Any, no_wakes: Any) -> Table:
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}])
    return syncing.sync(table.pk)


@pytest.fixture
def viewer(sales: Table) -> Caller:
    return caller("viewer")


def file_of(table: Table, country: str, number: int = 0) -> Path:
    place = Path(table.path)
    return place / [name for name in small_delta.live(place) if name.startswith(f"p={country}/")][number]


def checked(viewer: Caller, table: Table, **body: Any) -> dict[str, Any]:
    asked = viewer.post(f"/tables/{table.pk}/check-files", body)
    assert asked.status_code == 202, asked.content
    assert light_work.one("light@here")
    answer = viewer.get(asked.json()["result_url"])
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def health_of(viewer: Caller, table: Table) -> dict[str, dict[str, Any]]:
    return {each["code"]: each for each in viewer.get(f"/tables/{table.pk}").json()["health"]}


def reach_of(table: Table) -> list[tuple[int, int, bool]]:
    spans = joined(TableReach(syncing.sync(table.pk)).spans)
    return [(span.first, span.last, span.restorable) for span in spans]


def page_of(viewer: Caller, table: Table) -> str:
    return str(browser(viewer.person).get(f"/tables/{table.pk}/files/").content.decode())


FIGURES = 'id="figures" hx-swap-oob="true"'


def now_of(viewer: Caller, table: Table) -> str:
    return str(browser(viewer.person).get(f"/tables/{table.pk}/files/now/").content.decode())


# What is found


def test_files_as_the_log_says_are_said_to_be_so(viewer: Caller, sales: Table) -> None:
    assert "No check yet" in page_of(viewer, sales)
    answer = checked(viewer, sales)
    assert {**answer, "at": ""} == {
        "version": 1, "at": "", "files": 3, "asked": 3, "outside": 0, "missing": 0, "missing_vectors": 0, "other_size": 0, "named": [],
    }  # fmt: skip
    assert not {"files_missing", "file_sizes_differ"} & set(health_of(viewer, sales))
    assert "3 of 3 files looked at" in page_of(viewer, sales)
    [event] = Event.objects.filter(action="table.check_files")
    assert (event.actor_name, event.object_id, event.table_version) == (viewer.person.name, str(sales.pk), 1)


@pytest.mark.parametrize("kind", ["gone", "a directory"])
def test_a_file_that_is_no_regular_file_is_an_error_of_the_table(viewer: Caller, sales: Table, kind: str) -> None:
    file = file_of(sales, "DE")
    file.unlink()
    if kind == "a directory":
        file.mkdir()
    name = f"p=DE/{file.name}"
    answer = checked(viewer, sales)
    [named] = answer["named"]
    assert (answer["missing"], answer["other_size"], named["path"], named["stored"]) == (1, 0, name, None)
    finding = health_of(viewer, sales)["files_missing"]
    assert (finding["severity"], finding["value"]) == ("error", 1)
    assert name in finding["text"]
    assert "version 1" in finding["text"]
    assert name in page_of(viewer, sales)
    row = browser(viewer.person).get(f"/tables/{sales.pk}/").content.decode()
    assert "files missing" in row


def test_the_end_of_a_check_brings_the_figures_of_the_page_anew(viewer: Caller, sales: Table) -> None:
    file_of(sales, "DE").unlink()
    viewer.post(f"/tables/{sales.pk}/check-files")
    assert FIGURES not in now_of(viewer, sales)
    assert light_work.one("light@here")
    part = now_of(viewer, sales)
    assert "files missing" in part[part.index(FIGURES) :]
    assert FIGURES not in page_of(viewer, sales)


def test_another_size_is_told_with_both(viewer: Caller, sales: Table) -> None:
    file = file_of(sales, "FR", 1)
    logged = file.stat().st_size
    file.write_text(file.read_text() + "  ")
    answer = checked(viewer, sales)
    assert answer["named"] == [{"path": f"p=FR/{file.name}", "logged": logged, "stored": logged + 2, "vector": False}]
    assert f"{logged + 2:,} bytes, and the log says {logged:,}" in health_of(viewer, sales)["file_sizes_differ"]["text"]


def test_a_deletion_vectors_file_is_asked_for_once_and_one_in_the_log_is_not(viewer: Caller, sales: Table) -> None:
    adds = _with_vectors(sales)
    answer = checked(viewer, sales)
    assert (answer["files"], answer["missing"], answer["missing_vectors"]) == (len(adds) + 1, 0, 1)
    [named] = answer["named"]
    assert (named["path"], named["vector"]) == ("ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", True)


def test_a_missing_vector_is_a_finding_of_its_own_that_ends_with_it(viewer: Caller, sales: Table) -> None:
    _with_vectors(sales)
    checked(viewer, sales)
    health = health_of(viewer, sales)
    assert "files_missing" not in health
    assert (health["vectors_missing"]["value"], health["vectors_missing"]["severity"]) == (1, "error")
    assert "A repair doesn’t help" in health["vectors_missing"]["advice"]
    assert "1 of deletion vectors missing" in page_of(viewer, sales)
    place = Path(sales.path) / "ab" / "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    place.parent.mkdir()
    place.write_bytes(b"x")
    assert checked(viewer, sales)["missing_vectors"] == 0
    assert "vectors_missing" not in health_of(viewer, sales)


def _with_vectors(table: Table) -> list[dict[str, Any]]:
    """Two files share a vector file, whose name is the protocol's own example; a third has its vector in the log."""
    place = Path(table.path)
    vectors = [
        ("u", "ab^-aqEH.-t@S}K{vb[*k^"),
        ("u", "ab^-aqEH.-t@S}K{vb[*k^"),
        ("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"),
    ]
    lines = [
        json.loads(line)
        for log in sorted((place / "_delta_log").glob("*.json"))
        for line in log.read_text().splitlines()
    ]
    adds = [line["add"] for line in lines if "add" in line]
    for at, (add, (storage, stored)) in enumerate(zip(adds, vectors, strict=True)):
        add["deletionVector"] = {
            "storageType": storage, "pathOrInlineDv": stored, "offset": 4 * at, "sizeInBytes": 40, "cardinality": 1,
        }  # fmt: skip
    removes = [{"remove": {"path": add["path"], "deletionTimestamp": 0, "dataChange": True}} for add in adds]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    small_delta.commit(place, "DELETE", [{"protocol": protocol}, *removes, *({"add": add} for add in adds)])
    return adds


# How long it stays


def test_it_stays_until_a_later_check_says_otherwise(viewer: Caller, sales: Table) -> None:
    file = file_of(sales, "DE")
    kept = file.read_text()
    file.unlink()
    checked(viewer, sales)
    syncing.sync(sales.pk, reread_broken=True)
    assert "files_missing" in health_of(viewer, sales)
    file.write_text(kept)
    checked(viewer, sales)
    assert "files_missing" not in health_of(viewer, sales)


def test_a_version_without_the_files_ends_it_and_those_before_are_lost(viewer: Caller, sales: Table) -> None:
    place = Path(sales.path)
    file_of(sales, "DE").unlink()
    checked(viewer, sales)
    small_delta.append(place, [{"id": 60, "p": "FR"}])
    table = syncing.sync(sales.pk)
    assert "files_missing" in table.health_codes
    gone = [
        {"remove": {"path": name, "deletionTimestamp": 0, "dataChange": True}}
        for name in small_delta.live(place)
        if "DE" in name
    ]
    small_delta.commit(place, "DELETE", gone)
    table = syncing.sync(sales.pk)
    assert "files_missing" not in table.health_codes
    assert reach_of(table) == [(0, 0, False), (1, 2, False), (3, 3, True)]


@pytest.mark.django_db(transaction=True)
def test_what_a_job_finds_stays_too(olga: Any, viewer: Caller, sales: Table) -> None:
    file = file_of(sales, "FR", 1)
    file.write_text(file.read_text() + "  ")
    request(Actor.acting_for(olga), Delete(str(sales.pk), "p = 'FR' AND id < 60"), "it has to be")
    _previewed()
    assert "file_sizes_differ" in health_of(viewer, sales)
    assert "found by a job" in page_of(viewer, sales)


# Versions that lost files


def _previewed() -> None:
    claim = claim_preview(factories.holder())
    assert claim is not None
    work(Execution(claim, SmallEngine(), threading.Event(), lambda: None))


@pytest.fixture
def overwritten(sales: Table) -> Table:
    """Versions 2 and 3 each replace the files of Germany."""
    place = Path(sales.path)
    for number in (2, 3):
        old = [name for name in small_delta.live(place) if "DE" in name]
        removes = [{"remove": {"path": name, "deletionTimestamp": 0, "dataChange": True}} for name in old]
        small_delta.commit(place, "WRITE", [*removes, *small_delta._adds(place, [{"id": number, "p": "DE"}])])
    return syncing.sync(sales.pk)


@pytest.mark.django_db(transaction=True)
def test_what_a_restores_preview_misses_ends_the_reach_there(olga: Any, viewer: Caller, overwritten: Table) -> None:
    assert reach_of(overwritten) == [(0, 3, True)]
    first = Path(overwritten.path) / next(name for name in small_delta.live(Path(overwritten.path), 0) if "DE" in name)
    kept = first.read_text()
    first.unlink()
    request(Actor.acting_for(olga), Restore(str(overwritten.pk), 0), "it has to be")
    _previewed()
    assert reach_of(overwritten) == [(0, 1, False), (2, 3, True)]
    history = viewer.get(f"/tables/{overwritten.pk}/history").json()["results"]
    assert [commit["restorable"] for commit in history] == [True, True, False, False]
    first.write_text(kept)
    request(Actor.acting_for(olga), Restore(str(overwritten.pk), 1), "it has to be")
    _previewed()
    assert reach_of(overwritten) == [(0, 3, True)]


def test_a_check_of_an_older_version_ends_it_too_and_one_that_finds_all_files_moves_the_end(
    viewer: Caller, overwritten: Table
) -> None:
    place = Path(overwritten.path)
    (place / next(name for name in small_delta.live(place, 2) if "DE" in name)).unlink()
    answer = checked(viewer, overwritten, version=2)
    assert (answer["version"], answer["missing"]) == (2, 1)
    assert reach_of(overwritten) == [(0, 1, False), (2, 2, False), (3, 3, True)]
    assert checked(viewer, overwritten, version=0)["missing"] == 0
    assert reach_of(overwritten) == [(0, 0, True), (1, 1, False), (2, 2, False), (3, 3, True)]
    whys = [
        span["why"]
        for span in viewer.get(f"/tables/{overwritten.pk}/reachability").json()["spans"]
        if not span["restorable"]
    ]
    assert "a vacuum that isn’t in the log" in whys[0]
    assert "missing from storage on" in whys[1]
    assert "files_missing" not in health_of(viewer, overwritten)


def test_another_table_at_the_place_begins_without_what_was_lost(viewer: Caller, overwritten: Table) -> None:
    place = Path(overwritten.path)
    (place / next(name for name in small_delta.live(place, 2) if "DE" in name)).unlink()
    checked(viewer, overwritten, version=2)
    shutil.rmtree(place)
    small_delta.create(place, lakes.SALES)
    table = syncing.sync(overwritten.pk)
    assert (table.lost_files, table.file_check) == ([], None)


# Bounds, progress, and whose it is


def test_a_check_that_is_bounded_says_how_many_of_how_many(
    viewer: Caller, sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_files, "MOST", 2)
    answer = checked(viewer, sales)
    assert (answer["asked"], answer["files"]) == (2, 3)
    assert "other files may differ too" in page_of(viewer, sales)


def test_one_that_takes_too_long_ends_with_what_it_has(
    viewer: Caller, sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_check, "AT_ONCE", 1)
    monkeypatch.setattr(file_check, "SECONDS", 0)
    assert checked(viewer, sales)["asked"] == 1


def test_its_progress_is_shown_and_a_stop_ends_it_before_the_next_part(
    viewer: Caller, sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_check, "AT_ONCE", 1)
    seen: list[str] = []
    looked = data_files.unlike

    def unlike(*asked: Any) -> Any:
        seen.append(page_of(viewer, sales))
        file_check.stop(viewer.person, sales)
        return looked(*asked)

    monkeypatch.setattr(file_check, "unlike", unlike)
    asked = viewer.post(f"/tables/{sales.pk}/check-files")
    assert light_work.one("light@here")
    [shown] = seen
    assert "0 of 3 files looked at" in shown
    assert "every 2s" in shown
    answer = viewer.get(asked.json()["result_url"])
    assert (answer.status_code, answer.json()["code"]) == (409, "stopped")
    assert Table.objects.get(pk=sales.pk).file_check is None


def test_a_third_check_at_a_time_is_refused_and_leaves_nothing(viewer: Caller, sales: Table) -> None:
    for _ in range(file_check.MOST):
        assert caller("viewer").post(f"/tables/{sales.pk}/check-files").status_code == 202
    refused = viewer.post(f"/tables/{sales.pk}/check-files")
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert Read.objects.filter(person=viewer.person).count() == 0
    page = browser(viewer.person).post(f"/tables/{sales.pk}/files/check/")
    assert (page.status_code, "Nothing was checked" in page.content.decode()) == (503, True)


def test_it_takes_the_right_to_see_the_table(sales: Table) -> None:
    stranger = caller("viewer", root=factories.RootFactory())
    assert stranger.post(f"/tables/{sales.pk}/check-files").status_code == 404
    assert stranger.post(f"/tables/{uuid.uuid4()}/check-files").status_code == 404
    assert Read.objects.count() == 0


def test_a_directory_that_is_gone_and_one_without_a_log_are_refused(viewer: Caller, sales: Table) -> None:
    plain = factories.TableFactory(root=sales.root, name="plain", format="parquet")
    Path(plain.path).mkdir()
    answer = viewer.post(f"/tables/{plain.pk}/check-files")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_delta")
    shutil.rmtree(sales.path)
    assert viewer.post(f"/tables/{sales.pk}/check-files").status_code == 404


def test_a_link_among_the_files_is_said_and_not_followed(viewer: Caller, sales: Table) -> None:
    place = Path(sales.path)
    (place / "p=FR").rename(place / "elsewhere")
    (place / "p=FR").symlink_to(place / "elsewhere")
    asked = viewer.post(f"/tables/{sales.pk}/check-files")
    assert light_work.one("light@here")
    answer = viewer.get(asked.json()["result_url"])
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable")


def test_rows_that_miss_a_file_have_the_files_of_their_version_checked(viewer: Caller, sales: Table) -> None:
    read = factories.read(viewer.person, kind="rows", table=sales, question={"path": sales.path, "version": 0})
    for condition, count in (("DELTA_TABLE_NOT_FOUND", 0), ("FAILED_READ_FILE.FILE_NOT_EXIST", 1)):
        read_executor._have_files_checked(read, EngineFailed(EngineFailure(condition, None, "it failed")))
        assert Read.objects.filter(kind=file_check.KIND, question__version=0).count() == count
