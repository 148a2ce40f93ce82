"""What a person chooses a directory from: what they may see, as Spark would list it, and each refusal on record."""

from pathlib import Path

import pytest

from console.audit.actions import Action
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.targets import directories
from tests import factories
from tests.factories import lakes

pytestmark = pytest.mark.django_db
HIDDEN = (".x", "_x", "_spark_metadata", "x._COPYING_")
SHOWN = ("_metadata", "_x=1", "x")


@pytest.fixture
def root(tmp_path):
    return factories.root_at(tmp_path)


def actor(**scope):
    return Actor.acting_for(factories.person_with("operator", **scope))


def test_names_that_spark_hides_are_left_out_and_no_others(root):
    for name in (*HIDDEN, *SHOWN):
        (Path(root.uri) / name).mkdir()
        (Path(root.uri) / f"{name}.csv").touch()
    (Path(root.uri) / "d.csv._COPYING_").touch()
    found = directories.below(actor(), root.uri, Action.STREAM_CREATE)
    assert found.directories == [f"{root.uri}/{name}" for name in SHOWN]
    assert found.endings == {"csv": len(SHOWN) + 1}  # `x._COPYING_.csv` ends in something else


def test_a_path_outside_of_what_a_person_sees_is_refused_on_record(root):
    with pytest.raises(Problem, match="not below a root that you have access to"):
        directories.below(actor(root=factories.RootFactory()), root.uri, Action.STREAM_CREATE)
    event = Event.objects.get()
    assert (event.action, event.outcome, event.object_name) == ("stream.create", "refused", root.uri)


def test_who_sees_a_table_alone_chooses_nothing_from_its_root(root):
    table = lakes.sales_in(root)
    with pytest.raises(Problem, match="not choose from what lies in its root"):
        directories.below(actor(table=table), table.path, Action.STREAM_CREATE)
    assert not Event.objects.exists()
