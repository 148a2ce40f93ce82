"""Directories that a stream's request makes, and what they may not lie in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.accounts.authority import GrantScope
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.models import Stream
from jobs.policy import services as policy_services
from jobs.policy.services import Terms
from jobs.streams import acts, definition, targets
from tables.models import Root

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


@pytest.fixture
def refused_late(asked: dict[str, Any]) -> dict[str, Any]:
    """The same request, refused once its target is there: its checkpoint lies outside every root."""
    return {**asked, "checkpoint": "/etc/checkpoint"}


def test_a_refused_request_removes_the_directory_that_it_made(actor, root, refused_late):
    with pytest.raises(Problem):
        acts.create(actor, "second", "x", refused_late)
    assert not Path(root.uri, "clicks").exists()


def test_a_refused_request_leaves_the_directory_that_another_one_has_just_made(
    actor, root, asked, refused_late, monkeypatch: pytest.MonkeyPatch
):
    """The other request comes between its look for the directory and the making of it."""
    with monkeypatch.context() as patch:
        patch.setattr(targets, "_refuse_inside", lambda _above: Path(root.uri, "clicks").mkdir())
        with pytest.raises(Problem):
            acts.create(actor, "second", "x", refused_late)
    assert Path(root.uri, "clicks").is_dir()


def test_a_refused_request_leaves_the_directory_that_another_stream_has_by_now(
    actor, root, asked, refused_late, monkeypatch: pytest.MonkeyPatch
):
    checked = targets.checkpoint_of_query

    def after_the_other(*given: Any) -> str:
        if not Stream.objects.exists():
            monkeypatch.setattr(definition, "checkpoint_of_query", checked)
            acts.create(actor, "first", "x", asked)
        return checked(*given)

    monkeypatch.setattr(definition, "checkpoint_of_query", after_the_other)
    with pytest.raises(Problem):
        acts.create(actor, "second", "x", refused_late)
    assert Stream.objects.get().name == "first"
    assert Path(root.uri, "clicks").is_dir()


@pytest.mark.parametrize("target", ["other/checkpoint", "other/checkpoint/inner"])
def test_a_target_and_the_empty_checkpoint_of_another_stream_lie_apart(actor, root, asked, target):
    Path(root.uri, "other").mkdir()
    acts.create(actor, "first", "x", {**asked, "checkpoint": f"{root.uri}/other/checkpoint"})
    with pytest.raises(Problem) as refused:
        acts.create(actor, "second", "x", {**asked, "target": {"path": f"{root.uri}/{target}"}})
    assert (refused.value.status, refused.value.code) == (409, "foreign_checkpoint")
    assert Path(root.uri, "other", "checkpoint").is_dir()
    assert not Path(root.uri, "other", "checkpoint", "inner").exists()
    assert Stream.objects.count() == 1


def test_a_table_that_holds_the_checkpoint_of_another_stream_is_no_target(actor, root, asked, sales):
    first = acts.create(actor, "first", "x", asked)
    Stream.objects.filter(pk=first.pk).update(checkpoint=f"{sales.path}/checkpoint")  # as before it became a table
    with pytest.raises(Problem) as refused:
        acts.create(actor, "second", "x", {**asked, "target": {"table": str(sales.pk)}})
    assert (refused.value.status, refused.value.code) == (409, "foreign_checkpoint")


def test_none_is_defined_into_what_a_rule_protects_and_no_directory_is_left(
    actor: Actor, asked: dict[str, Any], root: Root
) -> None:
    policy_services.add(Actor.system("tests"), "any", GrantScope(root_id=root.pk), Terms("Ledger", 0), forbids=True)
    with pytest.raises(Problem) as refused:
        acts.create(actor, "clicks-ingest", "clicks of the shop", asked)
    assert (refused.value.status, refused.value.code) == (409, "protected")
    assert not Path(root.uri, "clicks").exists()
    event = Event.objects.get(action="stream.create", outcome="refused")
    assert (event.object_kind, event.object_id) == ("path", f"{root.uri}/clicks")


@pytest.mark.parametrize(
    "text", ["lake/checkpoint", "/lake/../checkpoint", "s3a://lake/checkpoint", "HDFS://nn:8020/checkpoint", "gs://a/b"]
)
def test_a_checkpoint_that_lies_nowhere_or_elsewhere_is_refused_at_its_field(actor, root, asked, text):
    with pytest.raises(Problem) as refused:
        acts.create(actor, "clicks", "x", {**asked, "checkpoint": text})
    assert (refused.value.status, list(refused.value.fields or ())) == (400, ["checkpoint"])
    assert not Path(root.uri, "clicks").exists()


def test_a_checkpoint_may_be_named_by_a_file_uri(actor, root, asked):
    Path(root.uri, "other").mkdir()
    acts.create(actor, "clicks", "x", {**asked, "checkpoint": f"file:{root.uri}/other/checkpoint"})
    assert Stream.objects.get().checkpoint == f"{root.uri}/other/checkpoint"
