"""Roots on HDFS: tested, added, scanned and synced; what HDFS refuses is one line, and a name node that is silent keeps nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.base.errors import Problem
from console.templatetags.levee import size
from tables.catalog.adding import additions
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.roots import entries as roots
from tables.catalog.roots import places as root_places
from tables.catalog.roots import scans
from tables.catalog.roots.object_stores import description_of
from tables.models import Finding, ObjectStore, Root
from tables.rules import discovery
from tables.storage.description import Description
from tables.storage.hdfs import client as hdfs
from tables.storage.hdfs import name_nodes
from tables.storage.hdfs.files import HdfsStorage
from tables.storage.store import StorageError
from tables.sync import table as syncing
from tests.clients import confirmed_browser
from tests.hdfs import Directory
from tests.tables.storage.test_folders import in_turns, relative

pytestmark = [pytest.mark.django_db, pytest.mark.spark, pytest.mark.xdist_group("engine")]


def failed(actor: Actor, text: str, given: Description | None = None, **options: Any) -> str:
    """The one answer that stands against a place."""
    (bad,) = (check for check in root_places.examine(actor, text, given, **options) if check.passed is False)
    assert "\n" not in bad.answer
    assert "org.apache" not in bad.answer
    return bad.answer


def test_a_directory_is_tested_added_scanned_and_its_tables_are_read_and_followed(
    admin: Actor, on_hdfs: Directory, tmp_path: Path, redis_server: str
) -> None:
    place = on_hdfs.delta("sales/orders", tmp_path / "orders", 3)
    on_hdfs.delta("sales/deep/er/clicks", tmp_path / "clicks")
    on_hdfs.put("sales/plain/day=1/a.parquet", b"xyz")
    on_hdfs.put("sales/readme.txt")
    typed = f"HDFS://127.0.0.1:{on_hdfs.cluster.port}{on_hdfs.path}//sales/"
    checks = root_places.examine(admin, typed, writes=True)
    assert [check.name for check in checks] == ["Path", "Name node", "Directory", "Listable", "Other roots", "Writable"]
    assert all(check.passed for check in checks), checks
    assert on_hdfs.names("sales") == ["deep", "orders", "plain", "readme.txt"]

    root = roots.add_root(admin, "lake", typed)
    assert root.uri == f"{on_hdfs.uri}/sales"
    assert not ObjectStore.objects.exists()
    assert scans.scan_root(root.pk)["found"] == 3
    found = dict(Finding.objects.filter(root=root).values_list("path", "kind"))
    assert found == {place: "delta", f"{root.uri}/deep/er/clicks": "delta", f"{root.uri}/plain": "parquet"}

    table = additions.add_table(admin, place).table
    assert (table.sync_error, table.version, table.num_records) == ("", 0, 3)
    on_hdfs.delta("sales/orders", tmp_path / "orders", 5, mode="append")
    after = syncing.sync(table.pk)
    assert (after.version, after.num_records, table.commits.count()) == (1, 8, 2)
    plain = additions.add_table(admin, f"{root.uri}/plain").table
    assert (plain.num_files, plain.size_bytes) == (1, 3)
    on_hdfs.remove("sales/orders")
    gone = syncing.sync(table.pk)
    assert gone.missing_since is not None
    assert gone.version == 1


def test_a_scan_goes_on_where_it_stopped(on_hdfs: Directory, tmp_path: Path) -> None:
    for name in (
        "a/_delta_log/00000000000000000000.json",
        "b/day=1/x.parquet",
        "c/d/e/x.parquet",
        "c/z.txt",
        "f/y.parq",
    ):
        on_hdfs.put(f"lake/{name}")
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    whole = relative(discovery.scan(str(tmp_path)), str(tmp_path))
    assert len(whole) == 4
    assert in_turns(f"{on_hdfs.uri}/lake", entries=7) == whole


def test_a_checkpoint_is_read_as_from_a_disk(admin: Actor, on_hdfs: Directory, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    on_hdfs.delta("orders", tmp_path / "orders")
    DeltaTable(str(tmp_path / "orders")).create_checkpoint()
    place = on_hdfs.delta("orders", tmp_path / "orders", 2, mode="append")
    on_hdfs.remove(f"orders/_delta_log/{0:020}.json")
    roots.add_root(admin, "lake", on_hdfs.uri)
    table = additions.add_table(admin, place).table
    assert (table.sync_error, table.version, table.num_records, table.num_files) == ("", 1, 5, 2)


def test_what_hdfs_refuses_is_one_line(admin: Actor, on_hdfs: Directory) -> None:
    on_hdfs.put("file")
    assert failed(admin, f"{on_hdfs.uri}/none") == f"There is no directory {on_hdfs.uri}/none."
    assert failed(admin, f"{on_hdfs.uri}/file") == f"{on_hdfs.uri}/file is a file, not a directory."
    user = hdfs.user_name()
    on_hdfs.allow(0o755, owner="ines")
    assert all(check.passed for check in root_places.examine(admin, on_hdfs.uri))
    refused = f"Levee can’t write in {on_hdfs.uri}: HDFS refuses this to the user {user}."
    assert failed(admin, on_hdfs.uri, writes=True) == refused
    on_hdfs.allow(0o700, owner="ines")
    refused = f"Levee can’t list {on_hdfs.uri}: HDFS refuses this to the user {user}."
    assert failed(admin, on_hdfs.uri) == refused
    on_hdfs.put("SASL_x/GSSAPI")
    on_hdfs.allow(0o700, "SASL_x", owner="ines")
    on_hdfs.allow(0o755, owner="ines")
    assert failed(admin, f"{on_hdfs.uri}/SASL_x").endswith(f"HDFS refuses this to the user {user}.")
    on_hdfs.allow(0o700, owner="ines")
    with pytest.raises(Problem) as problem:
        roots.add_root(admin, "lake", on_hdfs.uri)
    assert problem.value.fields == {"uri": refused}
    assert "takes no key" in failed(admin, f"{on_hdfs.cluster.uri}/", description_of({"key_id": "k", "secret": "s"}))
    assert not Root.objects.exists()


def test_a_file_that_a_test_of_writing_leaves_is_named(
    admin: Actor, on_hdfs: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(node: hdfs.NameNode, path: str, writer: Any) -> None:
        writer.close()
        raise hdfs.HdfsRefused("HDFS refuses this", denied=True)

    monkeypatch.setattr(hdfs.NameNode, "discard", closed)
    told = failed(admin, on_hdfs.uri, writes=True)
    (left,) = on_hdfs.names()
    assert told == f"Levee can write in {on_hdfs.uri} and not delete there: HDFS refuses this; {left} was left behind."


def test_one_name_node_is_no_root_by_a_second_name(admin: Actor, on_hdfs: Directory) -> None:
    on_hdfs.put("hr/pay/a.parquet")
    other = f"hdfs://localhost:{on_hdfs.cluster.port}{on_hdfs.path}/hr"
    assert all(check.passed for check in root_places.examine(admin, other))
    roots.add_root(admin, "lake", on_hdfs.uri)
    for place in (other, f"hdfs://localhost:{on_hdfs.cluster.port}"):
        assert f"are the same name node: name it 127.0.0.1:{on_hdfs.cluster.port}" in failed(admin, place)
        with pytest.raises(Problem, match="are the same name node"):
            roots.add_root(admin, "again", place)
    roots.add_root(admin, "inner", f"{on_hdfs.uri}/hr")


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("hdfs://127.0.0.1:1/lake", "Levee can’t ask 127.0.0.1:1: the name node doesn’t answer."),
        ("hdfs://nobody.invalid:8020/lake", "the name node’s host has no address"),
        ("hdfs://lake/lake", "it names no port, and no nameservice that Levee’s HADOOP_CONF_DIR describes"),
        ("hdfs://name node:8020/lake", "it takes a host and a port"),
        ("hdfs://127.0.0.1:8020/a*", "is a pattern"),
    ],
)
def test_a_name_node_that_can_t_be_asked_is_one_line(admin: Actor, place: str, told: str) -> None:
    assert told in failed(admin, place)


def test_a_silent_name_node_is_waited_for_once_and_left_alone_for_a_while(
    admin: Actor, on_hdfs: Directory, tmp_path: Path, redis_server: str
) -> None:
    place = on_hdfs.delta("orders", tmp_path / "orders")
    root = roots.add_root(admin, "lake", on_hdfs.uri)
    scans.scan_root(root.pk)
    addition = bulk_additions.request(admin, root)
    with on_hdfs.cluster.silent():
        assert "the name node doesn’t answer" in failed(admin, on_hdfs.uri)
        assert not bulk_additions.work_next()
        assert Finding.objects.filter(addition=addition, refusal="").count() == 1
        for _ in range(20):
            with pytest.raises(StorageError, match="doesn’t answer, a moment ago"):
                HdfsStorage(place)
        assert "the name node doesn’t answer" in str(scans.scan_root(root.pk)["stopped"])
    table = additions.add_table(admin, place).table
    assert (table.sync_error, table.version) == ("", 0)


def test_a_directory_that_is_closed_to_levee_is_left_out_of_a_scan_and_closes_nothing_else(
    admin: Actor, on_hdfs: Directory, tmp_path: Path
) -> None:
    on_hdfs.delta("open/orders", tmp_path / "orders")
    place = on_hdfs.delta("closed/pay", tmp_path / "pay")
    root = roots.add_root(admin, "lake", on_hdfs.uri)
    table = additions.add_table(admin, place).table
    on_hdfs.allow(0o700, "closed", owner="ines")
    scans.scan_root(root.pk)
    assert set(Finding.objects.values_list("path", flat=True)) == {f"{root.uri}/open/orders"}
    told = syncing.sync(table.pk)
    assert f"HDFS refuses this to the user {hdfs.user_name()}" in told.sync_error
    assert told.missing_since is None
    assert not name_nodes.is_away(root.uri)


def test_a_directory_on_hdfs_is_tested_added_and_shown_in_the_browser(
    person: Callable[..., Person], on_hdfs: Directory, tmp_path: Path, redis_server: str
) -> None:
    rita = confirmed_browser(person("rita", Role.ADMIN, Role.OPERATOR))
    place = on_hdfs.delta("orders", tmp_path / "orders")
    typed = {"uri": on_hdfs.uri, "name": "hadoop", "path_style": "on"}
    tested = rita.post("/roots/add/", {**typed, "do": "test", "writes": "on"}).content.decode()
    assert "Levee can write and delete there." in tested
    refused = rita.post("/roots/add/", {**typed, "do": "add", "key_id": "k", "secret": "s"})
    assert (refused.status_code, "takes no key" in refused.content.decode()) == (400, True)
    assert not Root.objects.exists()
    assert rita.post("/roots/add/", {**typed, "do": "add"}).status_code == 302
    root = Root.objects.get()
    shown = rita.get(f"/roots/{root.pk}/").content.decode()
    assert f'HDFS, as the user <span class="lv-mono">{hdfs.user_name()}</span>' in shown
    assert "/storage/" not in shown
    assert rita.get(f"/roots/{root.pk}/storage/").status_code == 404
    table = additions.add_table(Actor.acting_for(person("olga", Role.ADMIN, Role.OPERATOR)), place).table
    overview = rita.get(f"/tables/{table.pk}/").content.decode()
    assert "Writers outside of Levee" not in overview
    (file,) = (tmp_path / "orders").glob("*.parquet")
    layout = rita.get(f"/tables/{table.pk}/layout/").content.decode()
    assert f"1 file, {size(file.stat().st_size)}, version 0, from the log." in layout
