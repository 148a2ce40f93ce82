"""A directory is judged before Spark is given it and again afterwards; here without Spark, which test_swaps.py has."""

import os

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.domain.errors import CommandRefused, DirectorySwapped
from jobs.engine.directory import Directory, changing, judged, keeping, kept
from jobs.engine.walk import DELTA_LOG
from tables.storage import stores
from tables.storage.local.directories import Linked
from tests.jobs.engine.swaps import TARGETS, Lake
from tests.jobs.engine.watching import Watch


@pytest.fixture
def lake(tmp_path):
    lake = Lake(tmp_path / "lake")
    for place in (lake.table, lake.top / "outside" / "sub" / "t"):
        write_deltalake(place, pa.table({"id": [1]}), mode="overwrite")
    return lake


def code(act, *given):
    with pytest.raises(CommandRefused) as caught:
        act(*given)
    return caught.value.refusals[0].code


@pytest.mark.parametrize("target", TARGETS)
def test_a_link_on_the_way_or_below_is_refused_by_each_look(lake, target):
    directory = judged(str(lake.table))
    lake.swap(target)
    assert code(directory.check) == code(judged, str(lake.table)) == "outside_roots"
    lake.undo(target)
    directory.check()


@pytest.mark.parametrize("target", TARGETS)
def test_an_answer_of_a_directory_that_was_swapped_meanwhile_is_none(lake, target):
    with pytest.raises(CommandRefused, match="is a link"), kept(str(lake.table)):
        lake.swap(target)


def test_what_spark_says_of_the_other_directory_is_not_told(lake):
    directory = judged(str(lake.table))

    def failing():
        with keeping(directory.check):
            lake.swap("t")
            raise FileNotFoundError(2, "No such file", "their secret name")

    assert code(failing) == "outside_roots"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fails", [False, True])
def test_a_swap_under_a_change_is_said_first(lake, target, fails):
    def change():
        with changing(judged(str(lake.table))):
            lake.swap(target)
            if fails:
                raise FileNotFoundError(2, "No such file")

    with pytest.raises(DirectorySwapped, match="is a link"):
        change()


def test_another_directory_under_a_change_is_said_too(lake):
    def change():
        with changing(judged(str(lake.table))):
            lake.table.rename(lake.top / "kept")
            write_deltalake(lake.table, pa.table({"id": [2]}))

    with pytest.raises(DirectorySwapped, match="another directory"):
        change()


def test_a_change_stands_though_a_pipe_lies_there_now(lake):
    with changing(judged(str(lake.table))):
        os.mkfifo(lake.table / "pipe")


def test_only_the_log_is_looked_through_where_nothing_else_is_read(lake):
    (lake.table / "link").symlink_to("/etc")
    with kept(str(lake.table), only_log=True):
        pass
    (lake.table / DELTA_LOG / "link").symlink_to("/etc")
    assert code(lambda: kept(str(lake.table), only_log=True).__enter__()) == "outside_roots"


def test_sidecars_elsewhere_are_refused_before_anything_is_loaded(lake):
    checkpoint = lake.table / DELTA_LOG / f"{0:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    checkpoint.write_text('{"sidecar":{"path":"/etc/x.parquet","sizeInBytes":1,"modificationTime":1}}\n')
    assert code(judged, str(lake.table)) == "outside_roots"


def test_a_storage_stays_in_the_directory_that_it_entered(lake):
    place = stores.tree_at(str(lake.table))
    names = [name for name, _, _ in place.entries(DELTA_LOG)]
    content = place.tail(f"{DELTA_LOG}/{names[0]}", 1 << 20)
    lake.swap("sub")
    assert place.tail(f"{DELTA_LOG}/{names[0]}", 1 << 20) == content
    with pytest.raises(Linked):
        list(stores.tree_at(str(lake.table)).entries(DELTA_LOG))


def test_the_watch_of_the_other_tests_sees_each_look(lake):
    watch = Watch(lake.top / "outside")
    assert not watch.touched()
    for look in (
        os.listdir,
        lambda place: (place / DELTA_LOG / f"{0:020d}.json").read_bytes(),
        lambda place: (place / "x").touch(),
    ):
        look(lake.top / "outside" / "sub" / "t")
        assert watch.touched()
        assert not watch.touched()
    watch.close()


@pytest.mark.parametrize("target", TARGETS)
def test_no_look_at_a_link_touches_where_it_leads(lake, target):
    directory, watch = judged(str(lake.table)), Watch(lake.top / "outside")
    lake.swap(target)
    assert code(directory.check) == code(judged, str(lake.table)) == "outside_roots"
    with pytest.raises(Linked):
        list(stores.tree_at(str(lake.table)).entries(DELTA_LOG))
    assert not watch.touched()
    watch.close()


@pytest.mark.parametrize(("make", "said"), [(None, "not_found"), (os.mkfifo, "not_found")])
def test_what_is_no_directory_is_named(tmp_path, make, said):
    if make:
        make(tmp_path / "t")
    assert code(Directory, str(tmp_path / "t")) == said
