"""What a commit is called in lists and drawings where its operation doesn't say."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.models import Commit, Root
from tables.rules.commit_kinds import CommitKind, of_kind
from tests.tables.deltalog.writing import Action, LogWriter, add, info, remove

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        ([info("UNKNOWN"), add("b")], CommitKind.APPEND),
        ([info("CREATE TABLE"), add("b")], CommitKind.APPEND),
        ([add("b")], CommitKind.APPEND),
        ([info("UNKNOWN"), remove("a")], CommitKind.REMOVAL),
        ([info("UNKNOWN"), remove("a"), add("b")], CommitKind.CHANGE),
        ([info("UNKNOWN")], CommitKind.OTHER),
        ([info("ROW TRACKING BACKFILL"), add("a")], CommitKind.OTHER),
    ],
)
def test_an_operation_that_says_nothing_of_data_is_told_by_its_files(
    admin: Actor, root: Root, lake: Path, actions: list[Action], kind: CommitKind
) -> None:
    log = LogWriter(lake / "orders")
    log.create(add("a"))
    log.commit(1, *actions)
    additions.add_table(admin, str(log.table))
    assert [each for each in CommitKind if Commit.objects.filter(of_kind(each), version=1).exists()] == [kind]
