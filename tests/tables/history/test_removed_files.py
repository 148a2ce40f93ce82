"""Old files: bytes that commits removed and no vacuum has deleted since, as a finding that comes by time."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tables.history import removed_files
from tables.history.shallow_clones import clones_of
from tables.models import Commit
from tables.rules.health import OLD_BYTES, old_files
from tables.rules.health_findings import HealthCode
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser
from tests.jobs import small_delta
from tests.jobs.web.commands.vacuum.conftest import grow_old, old_table

GIB = 2**30


@pytest.mark.parametrize(
    ("old", "size", "is_finding"),
    [
        (OLD_BYTES, None, True), (OLD_BYTES - 1, None, False), (OLD_BYTES, 100 * GIB, True), (GIB // 2, GIB, True),
        (GIB // 4, GIB, False), (2**19, 2**20, False), (0, 0, False), (2**21, 0, False),
    ],
)  # fmt: skip
def test_much_or_a_large_share_is_a_finding(old, size, is_finding):
    found = old_files(old, size)
    assert (found is not None) is is_finding
    assert found is None or found.code is HealthCode.OLD_FILES


@pytest.fixture
def sales(db, tmp_path):
    old_table(tmp_path / "sales")
    return factories.TableFactory(
        root=factories.RootFactory(uri=str(tmp_path)), path=str(tmp_path / "sales"), name="sales"
    )


def larger(path: Path) -> None:
    """Tombstones of a gibibyte each."""
    for commit in (path / "_delta_log").glob("*.json"):
        text = commit.read_text()
        for size in {part.split(",")[0].split("}")[0] for part in text.split('"size": ')[1:]}:
            text = text.replace(f'"size": {size}', f'"size": {GIB}')
        commit.write_text(text)
    grow = {0: 30, 1: 20, 2: 3, 3: 1}
    for version, days in grow.items():
        at = (timezone.now() - timedelta(days=days)).timestamp()
        os.utime(path / "_delta_log" / f"{version:020d}.json", (at, at))


def test_the_finding_comes_by_time_alone(sales):
    larger(Path(sales.path))
    table = syncing.sync(sales.pk)
    assert [size for _, size in table.removed] == [2 * GIB] * 3
    now = timezone.now()
    assert (removed_files.finding_of(table, now) or pytest.fail("none")).value == 2 * GIB
    assert HealthCode.OLD_FILES.value in table.health_codes
    assert removed_files.finding_of(table, now - timedelta(days=18)) is None
    assert (removed_files.finding_of(table, now + timedelta(days=6)) or pytest.fail("none")).value == 4 * GIB


def test_it_offers_the_vacuum_to_those_who_may_request_one(sales):
    larger(Path(sales.path))
    syncing.sync(sales.pk)
    for role, is_offered in (("operator", True), ("viewer", False)):
        found = browser(factories.person_with(role)).get(f"/tables/{sales.pk}/")
        [finding] = [each for each in found.context["findings"] if each["code"] == HealthCode.OLD_FILES.value]
        assert (finding["mend"] is not None) is is_offered
        if is_offered:
            assert finding["mend"]["url"] == f"/tables/{sales.pk}/vacuum/"
            assert f'href="/tables/{sales.pk}/vacuum/"' in found.content.decode()


def test_what_a_vacuum_deleted_is_old_no_more(sales):
    larger(Path(sales.path))
    path = Path(sales.path)
    small_delta.commit(path, "VACUUM START", [], operationParameters={"specifiedRetentionMillis": "3600000"})
    small_delta.commit(path, "VACUUM END", [], operationParameters={"status": "COMPLETED"})
    table = syncing.sync(sales.pk)
    assert table.removed == []
    assert HealthCode.OLD_FILES.value not in table.health_codes


def test_a_sync_counts_the_days_of_new_commits_alone(sales):
    larger(Path(sales.path))
    known = syncing.sync(sales.pk).removed
    Commit.objects.filter(table=sales, version__lt=3).update(bytes_removed=1)  # whoever counts them again sees this
    small_delta.compact(Path(sales.path))
    grow_old(Path(sales.path), {4: 0})
    table = syncing.sync(sales.pk)
    assert table.removed[: len(known)] == known
    assert [size for _, size in table.removed[len(known) :]] == [size for _, size in removed_files.by_day(table)[-1:]]


@pytest.mark.parametrize("step", ["compact", "append", "vacuum", "properties"])
def test_what_a_sync_adds_is_what_counting_all_gives(sales, step, monkeypatch):
    monkeypatch.setattr(removed_files, "MOST_DAYS", 2)
    larger(Path(sales.path))
    path, begun = Path(sales.path), syncing.sync(sales.pk).removed
    if step == "compact":
        small_delta.compact(path)
        grow_old(path, {4: 0})
    elif step == "append":
        small_delta.append(path, [{"id": 90, "p": "FR"}])
    elif step == "properties":
        small_delta.reshape(path, {"type": "struct", "fields": small_delta.FIELDS})
    else:
        ten_days = {"specifiedRetentionMillis": str(10 * 86_400_000)}
        small_delta.commit(path, "VACUUM START", [], operationParameters=ten_days)
        small_delta.commit(path, "VACUUM END", [], operationParameters={"status": "COMPLETED"})
    table = syncing.sync(sales.pk)
    assert table.removed == removed_files.by_day(table)
    assert (table.removed == begun) is (step in ("append", "properties"))


def test_a_table_that_needs_files_of_another_is_its_shallow_clone(sales, tmp_path):
    small_delta.create(tmp_path / "clone", [{"id": 1, "p": "FR"}])
    [live] = small_delta.live(tmp_path / "clone")
    commit = tmp_path / "clone" / "_delta_log" / f"{0:020d}.json"
    commit.write_text(commit.read_text().replace(f'"{live}"', f'"file://{sales.path}/{live}"'))
    clone = factories.TableFactory(root=sales.root, path=str(tmp_path / "clone"), name="clone")
    assert (syncing.sync(clone.pk).layout or {})["outside_under"] == f"file://{sales.path}/p=FR"
    assert [(found.table.pk, found.files) for found in clones_of(sales)] == [(clone.pk, 1)]
    assert clones_of(clone) == []
