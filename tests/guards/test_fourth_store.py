"""A kind of storage that nothing knows but its row gets roots, their test, scans, tables and their pages, inspections, Spark's settings.

Its folder lies in this file: options of a bucket, and the row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from obstore.store import MemoryStore

from console.accounts.roles import Role
from jobs.dispatcher.stores import by_store
from jobs.engine.object_stores.settings import BucketSettings
from jobs.models import Job
from tables.catalog.roots import object_stores, scans
from tables.models import Finding, ObjectStore, Root, Table
from tables.storage import stores
from tables.storage.description import Described, Description, HadoopSettings
from tables.storage.objects.kind import object_store
from tables.storage.objects.tree import Bucket
from tables.storage.patience import PATIENT, Patience
from tables.storage.store import StorageError
from tests.clients import Caller, browser
from tests.factories.jobs import job_on
from tests.factories.people import person_named
from tests.jobs.engine.object_stores.test_settings import Jvm

pytestmark = pytest.mark.django_db

HELD: dict[str, MemoryStore] = {}  # the made-up store's buckets


@dataclass(frozen=True, slots=True)
class VaultOptions:
    """A bucket in this process's memory."""

    bucket: str
    key_id: str = ""

    @property
    def prefix(self) -> str:
        return f"vault://{self.bucket}"

    @property
    def scope(self) -> str:
        return self.prefix

    @property
    def fingerprint(self) -> str:
        return f"{self.bucket} {self.key_id}"

    @property
    def silence(self) -> str:
        return ""

    def require_address(self) -> None:
        pass

    def store(self, waiting: Patience = PATIENT) -> MemoryStore:
        return HELD[self.bucket]

    def for_tasks(self) -> Bucket:
        return Bucket("MemoryStore", self.bucket, self.prefix, {})

    def for_hadoop(self) -> HadoopSettings:
        mine = f"fs.vault.{self.bucket}.key"
        return HadoopSettings({mine: self.key_id}, [mine], [f"{self.prefix}/"], (mine, self.key_id))

    def reach(self) -> str:
        return "In memory."

    def sent_on_to(self) -> None:
        return None


def faults(given: Description) -> Iterator[tuple[str, str]]:
    if given.endpoint:
        yield "endpoint", "A vault has no endpoint."


VAULT = object_store(
    Described(lambda bucket, given: VaultOptions(bucket, given.key_id), faults, "memory"),
    scheme="vault",
    what="vault:// prefixes",
    example="vault://bucket/lake",
    aliases=frozenset({"vaults"}),
    hadoop={"fs.vault.impl": "org.example.Vault"},
)


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A bucket of that kind, with a Delta table of two commits and a directory of parquet files."""
    monkeypatch.setattr(stores, "KINDS", (*stores.KINDS, VAULT))
    monkeypatch.setitem(stores._CANONICAL, "vaults", "vault")
    held = HELD["lake"] = MemoryStore()
    for country in ("DE", "FR"):
        write_deltalake(str(tmp_path / "orders"), pa.table({"id": [1, 2], "country": [country] * 2}), mode="append")
    for file in tmp_path.rglob("*"):
        if file.is_file():
            obstore.put(held, f"sales/{file.relative_to(tmp_path)}", file.read_bytes())
    obstore.put(held, "sales/plain/a.parquet", b"PAR1")
    yield "vault://lake/sales"
    HELD.clear()


@pytest.fixture
def ines(db: None) -> Caller:
    return Caller(person_named("ines", Role.ADMIN, Role.OPERATOR))


def body(vault: str, **storage: str) -> dict[str, Any]:
    return {"name": "vault", "uri": vault, "storage": {"key_id": "a-key-of-tests", "secret": "s", **storage}}


@pytest.fixture
def root(ines: Caller, vault: str) -> Root:
    """It as a root, by the API, written as others write its scheme."""
    answer = ines.post("/roots", body(vault.replace("vault:", "VAULTS:")))
    assert (answer.status_code, answer.json()["uri"]) == (201, vault), answer.content
    return Root.objects.get()


def test_a_place_there_is_tested_by_questions_of_its_own(ines: Caller, vault: str) -> None:
    asked = {name: value for name, value in body(vault).items() if name != "name"}
    found = ines.post("/roots/test", asked | {"writes": True}).json()
    assert [(each["name"], each["passed"]) for each in found["checks"]] == [
        ("Path", True), ("Storage", True), ("Listable", True), ("Readable", True), ("Other roots", True), ("Writable", True),
    ]  # fmt: skip
    refused = ines.post("/roots/test", {**asked, "storage": {"endpoint": "https://x"}})
    assert (refused.status_code, refused.json()["fields"]) == (400, {"endpoint": "A vault has no endpoint."})
    with pytest.raises(StorageError, match="no root says how to reach"):
        stores.files_at(vault)


def test_its_tables_are_found_read_and_shown(ines: Caller, root: Root) -> None:
    store = ObjectStore.objects.get()
    assert (store.bucket, store.region) == ("vault://lake", "memory")
    assert bytes(store.secret or b"") != b"s"
    scans.scan_root(root.pk)
    found = dict(Finding.objects.values_list("path", "kind"))
    assert found == {f"{root.uri}/orders": "delta", f"{root.uri}/plain": "parquet"}
    table = ines.post("/tables", {"path": f"{root.uri}/orders"}).json()
    assert (table["path"], table["version"]) == (f"{root.uri}/orders", 1)
    page = browser(ines.person).get(f"/tables/{table['id']}/").content.decode()
    assert f"{root.uri}/orders" in page
    assert "<h1" in page


def test_inspections_and_tasks_reach_it(root: Root) -> None:
    tree = stores.tree_at(f"{root.uri}/orders")
    names = {name for name, kind, _ in tree.entries("") if kind == "directory"}
    assert names == {"_delta_log"}
    assert stores.reach_of(root.uri) == Bucket("MemoryStore", "lake", "vault://lake", {})
    assert stores.is_there(root.uri)
    assert not stores.is_away(root.uri)


def test_spark_is_told_of_it(root: Root) -> None:
    jvm, settings = Jvm(), BucketSettings()
    with settings.reaching(jvm, [f"{root.uri}/orders"]):
        assert jvm.values == {"fs.vault.impl": "org.example.Vault", "fs.vault.lake.key": "a-key-of-tests"}
    ObjectStore.objects.update(key_id="another-key")
    object_stores.forget("vault://lake")
    with settings.reaching(jvm, [f"{root.uri}/orders"]):
        assert jvm.values["fs.vault.lake.key"] == "another-key"
    assert jvm.closed == ["vault://lake/"]


def test_a_store_that_hangs_holds_up_its_own_tables_alone(ines: Caller, root: Root) -> None:
    table = ines.post("/tables", {"path": f"{root.uri}/orders"}).json()
    job_on(Table.objects.get(pk=table["id"]), ines.person)
    assert list(by_store(Job.objects.all())) == ["vault://lake"]
