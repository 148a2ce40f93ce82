"""Streams whose source and target lie in an object store: what is asked, what is looked at, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.domain.states import State
from jobs.lifecycle import endings
from jobs.models import StreamRound
from jobs.streams import acts, lag
from tables.models import Root, Table
from tables.storage.objects import buckets as object_stores
from tests import factories
from tests.jobs.engine.object_store import ObjectStore

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    made = ObjectStore()
    monkeypatch.setattr(object_stores, "_lookup", made.lookup)
    for number in range(3):
        made.put(f"shop/landing/{number}.json", b'{"id": 1, "p": "a"}')
    yield made
    made.shut()


@pytest.fixture
def root(store: ObjectStore) -> Root:
    made: Root = factories.RootFactory(name="shop", uri="s3://lake/shop")
    return made


@pytest.fixture
def asked(root: Root) -> dict[str, Any]:
    return {
        "source": {"path": "s3a://lake/shop/landing", "format": "json", "schema": "id BIGINT, p STRING"},
        "target": {"path": "s3://lake/shop/clicks"},
        "output_mode": "append",
        "trigger": "available_now",
    }


def refused(actor: Actor, asked: dict[str, Any]) -> tuple[int, str, str]:
    with pytest.raises(Problem) as caught:
        acts.create(actor, "clicks", "x", asked)
    return caught.value.status, caught.value.code, caught.value.detail


def test_a_target_that_no_object_makes_yet_is_entered_as_it_is(actor: Actor, asked: dict[str, Any], store: ObjectStore):
    stream = acts.create(actor, "clicks", "x", asked)
    assert stream.table.path == stream.definition["path"] == "s3://lake/shop/clicks"
    assert stream.definition["source"]["path"] == "s3://lake/shop/landing"
    assert stream.checkpoint.startswith("/")
    assert store.names("shop/clicks") == []
    found = lag.measure(stream)
    assert found
    assert found.waiting == 3


def test_a_target_with_other_files_is_refused(actor: Actor, asked: dict[str, Any], store: ObjectStore):
    store.put("shop/clicks/old.csv", b"x")
    status, code, detail = refused(actor, asked)
    assert (status, code) == (422, "not_delta")
    assert "old.csv" in detail
    assert not Table.objects.exists()


def test_a_target_inside_a_table_is_refused(actor: Actor, asked: dict[str, Any], store: ObjectStore):
    store.put("shop/sales/_delta_log/00000000000000000000.json", b"{}")
    asked["target"]["path"] = "s3://lake/shop/sales/part"
    assert refused(actor, asked)[2] == "s3://lake/shop/sales is a Delta table: nothing of a stream can lie inside it."


def test_a_checkpoint_in_a_store_is_refused(actor: Actor, asked: dict[str, Any]):
    status, _, detail = refused(actor, {**asked, "checkpoint": "s3://lake/shop/checkpoint"})
    assert status == 400
    assert "can’t rename" in detail


def test_a_store_that_is_away_is_said(actor: Actor, asked: dict[str, Any], store: ObjectStore):
    store.shut()
    status, code, _ = refused(actor, asked)
    assert (status, code) == (422, "unreadable")


def test_a_directory_column_that_the_schema_lacks_is_refused(actor: Actor, asked: dict[str, Any], store: ObjectStore):
    store.put("shop/days/day=1/x.json", b"{}")
    asked["source"]["path"] = "s3://lake/shop/days"
    assert refused(actor, asked)[:2] == (400, "schema_refused")


def test_a_new_target_that_is_an_inner_root_is_that_roots(actor: Actor, asked: dict[str, Any]):
    inner = factories.RootFactory(name="clicks", uri="s3://lake/shop/clicks")
    assert acts.create(actor, "clicks", "x", asked).table.root == inner


def test_an_empty_prefix_proves_nothing_but_for_a_new_target(
    actor: Actor, asked: dict[str, Any], root: Root, olga: Person
):
    at = factories.TableFactory(root=root, path="s3://lake/shop/gone")
    values = {"claimed_at": timezone.now(), "finished_at": timezone.now(), "error": {"code": "x"}}
    job = factories.job_on(at, olga, state=State.FAILED, base_version=3, **values)
    with pytest.raises(endings.LogUnreadable, match="Nothing lies below"):
        endings.committed(job)
    job.base_version = None
    with pytest.raises(endings.LogUnreadable, match="Nothing lies below"):
        endings.committed(job)
    stream = acts.create(actor, "clicks", "x", asked)
    StreamRound.objects.create(stream=stream, job=job, number=1, revision=stream.revision)
    job.table.version = None
    assert endings.committed(job) is None
