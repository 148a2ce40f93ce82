"""Roots in an object store, in the browser, by the API and from the command line."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.models import Event
from console.templatetags.levee import size
from tables.catalog.adding import additions
from tables.catalog.roots import object_stores
from tables.models import ObjectStore, Root
from tests.clients import API, Caller, browser, confirmed_browser
from tests.s3 import KEY_ID, SECRET, Store

People = Callable[..., Person]
pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(person: People, redis_server: object) -> Client:
    return confirmed_browser(person("rita", Role.ADMIN))


def text(answer: Any) -> str:
    """The answer, in which no secret may be."""
    content = answer.content.decode()
    assert SECRET not in content
    assert "second-secret" not in content
    return " ".join(content.split())


def filled(store: Store, **other: Any) -> dict[str, Any]:
    return {**store.storage(), "path_style": "on", "uri": f"{store.uri}/sales", "name": "stored", **other}


def test_a_prefix_is_tested_and_added_in_the_browser(rita: Client, store: Store) -> None:
    assert 'name="endpoint"' in text(rita.get("/roots/add/"))
    assert "Nothing lies below" in text(rita.post("/roots/add/", filled(store, do="test")))
    store.delta("sales/orders")
    tested = text(rita.post("/roots/add/", filled(store, do="test", writes="on")))
    assert "Levee can write and delete there" in tested
    assert "…Y123" in tested
    refused = rita.post("/roots/add/", filled(store, do="add", endpoint="http://host/path"))
    assert refused.status_code == 400
    assert "must be http:// or https://" in text(refused)
    assert "takes path style" in text(rita.post("/roots/add/", filled(store, do="add", path_style="")))
    assert "Enter the secret" in text(rita.post("/roots/add/", filled(store, do="add", secret="")))
    assert not Root.objects.exists()
    assert not ObjectStore.objects.exists()
    assert rita.post("/roots/add/", filled(store, do="add")).status_code == 302
    shown = text(rita.get(f"/roots/{Root.objects.get().pk}/"))
    assert "as the user" not in shown, "a key reaches it, and nobody’s name"
    assert f"{store.endpoint}" in shown
    assert "…Y123" in shown
    assert KEY_ID not in shown
    added = Event.objects.get(action="root.add").after or {}
    assert added["storage"]["bucket"] == store.bucket


def test_the_credential_is_changed_on_a_page_of_its_own(
    rita: Client, stored: Root, store: Store, person: People
) -> None:
    address = f"/roots/{stored.pk}/storage/"
    assert f'href="{address}"' in text(rita.get(f"/roots/{stored.pk}/"))
    assert store.endpoint in text(rita.get(address))
    wrong = filled(store, do="test", key_id="AKIANOBODYKNOWS12345", secret="second-secret")
    assert "doesn’t know the key ID" in text(rita.post(address, wrong))
    assert "Levee can list it" in text(rita.post(address, filled(store, do="test", secret="")))
    assert Event.objects.filter(action="root.credential").count() == 0
    assert rita.post(address, filled(store, do="save", secret="second-secret")).status_code == 302
    assert object_stores.description_in(ObjectStore.objects.get()).secret == "second-secret"
    assert Event.objects.filter(action="root.credential").count() == 1
    plain = browser(person("rob", Role.ADMIN)).post(address, filled(store, do="save"))
    assert plain.status_code == 302
    assert "/confirm/" in plain["Location"]
    assert confirmed_browser(person("olga", Role.OPERATOR)).post(address, filled(store, do="save")).status_code == 403


def test_a_test_is_put_beside_the_form_which_keeps_its_secret(rita: Client, stored: Root, store: Store) -> None:
    for page in ("/roots/add/", f"/roots/{stored.pk}/storage/"):
        button = text(rita.get(page)).partition('id="test"')[2].partition(">")[0]
        assert f'hx-post="{page}"' in button
        assert 'hx-target="#checks" hx-select="#checks"' in button


@pytest.mark.parametrize("secret", ["secret", "session_token"])
def test_without_scripts_a_secret_that_a_test_had_is_asked_for_again(
    rita: Client, stored: Root, store: Store, secret: str
) -> None:
    address = f"/roots/{stored.pk}/storage/"
    given = filled(store, session_token="second-secret")
    tested = text(rita.post(address, given | {"do": "test"}))
    assert f'<input type="hidden" name="typed" value="{secret}">' in tested
    assert "A test doesn’t keep what is secret" in tested
    for do in ("test", "save"):
        again = text(rita.post(address, given | {secret: "", "typed": ["secret", "session_token"], "do": do}))
        assert f'name="typed" value="{secret}"' in again or do == "save"
    assert "Enter it again: a test doesn’t keep it." in again
    assert Event.objects.filter(action="root.credential").count() == 0
    assert rita.post(address, given | {"typed": ["secret", "session_token"], "do": "save"}).status_code == 302
    kept = object_stores.description_in(ObjectStore.objects.get())
    assert (kept.secret, kept.session_token) == (given["secret"], "second-secret")
    assert 'name="typed"' not in text(rita.get(address))


def test_a_directory_has_no_storage(rita: Client, root: Root, store: Store) -> None:
    assert rita.get(f"/roots/{root.pk}/storage/").status_code == 404
    assert "storage/" not in text(rita.get(f"/roots/{root.pk}/"))
    assert "takes no key" in text(rita.post("/roots/add/", filled(store, do="add", uri=f"{root.uri}")))


def put(caller: Caller, path: str, body: dict[str, Any]) -> Any:
    return caller.client.put(f"{API}{path}", body, content_type="application/json")


def test_the_api_does_the_same(person: People, store: Store, root: Root) -> None:
    ines = Caller(person("ines2", Role.ADMIN))
    store.delta("sales/orders")
    given = {"name": "stored", "uri": f"s3a://{store.bucket}/sales", "storage": store.storage()}
    tested = ines.post("/roots/test", {"uri": given["uri"], "storage": store.storage(), "writes": True})
    assert tested.json()["passed"] is True, text(tested)
    assert [check["name"] for check in tested.json()["checks"]][:2] == ["Path", "Storage"]
    wrong = ines.post("/roots/test", {"uri": given["uri"], "storage": store.storage(region="eu-west-1")})
    assert (wrong.status_code, wrong.json()["passed"]) == (200, False)
    assert ines.post("/roots/test", {"uri": root.uri}).json()["passed"] is False
    missing = ines.post("/roots", {"name": "stored", "uri": given["uri"]})
    assert (missing.status_code, list(missing.json()["fields"])) == (400, ["region"])
    added = ines.post("/roots", given)
    assert (added.status_code, added.json()["uri"]) == (201, f"{store.uri}/sales"), text(added)
    place = f"/roots/{added.json()['id']}"
    shown = ines.get(place).json()["storage"]
    assert {name: shown[name] for name in ("bucket", "key", "session")} == {
        "bucket": store.bucket, "key": "…Y123", "session": False,
    }  # fmt: skip
    changed = put(ines, f"{place}/storage", store.storage(session_token="second-secret"))
    assert (changed.status_code, changed.json()["session"]) == (200, True), text(changed)
    for body, field in (
        ({"endpoint": "ftp://x"}, "endpoint"),
        ({"password": "x"}, "password"),
        ({"secret": 1}, "secret"),
    ):
        refused = put(ines, f"{place}/storage", body)
        assert (refused.status_code, list(refused.json()["fields"])) == (400, [field])
    by_address = store.storage(endpoint="http://127.0.0.1:9000", path_style=False)
    for storage, field in (by_address, "path_style"), (store.storage(endpoint="http://host.7"), "endpoint"):
        other = {"uri": "s3://another-bucket/x", "storage": storage}
        for answer in (
            put(ines, f"{place}/storage", storage),
            ines.post("/roots/test", other),
            ines.post("/roots", {**other, "name": "more"}),
        ):
            assert answer.status_code == 400, text(answer)
            assert [name.rpartition(".")[2] for name in answer.json()["fields"]] == [field]
    assert ObjectStore.objects.get().path_style
    again = ines.post("/roots", {**given, "name": "more", "uri": f"{store.uri}/sales/orders"})
    assert (again.status_code, again.json()["code"]) == (409, "storage_known")
    local = put(ines, f"/roots/{root.pk}/storage", store.storage())
    assert (local.status_code, local.json()["code"]) == (409, "not_in_storage")
    assert ines.get(f"/roots/{root.pk}").json()["storage"] is None
    assert put(Caller(person("vic", Role.VIEWER)), f"{place}/storage", {}).status_code == 403


def test_the_command_line_reads_the_secret_from_a_file(store: Store, tmp_path: Path) -> None:
    store.delta("sales/orders")
    (tmp_path / "secret").write_text(f"{SECRET}\n")

    def run(file: str) -> str:
        out = StringIO()
        options = ["--endpoint", store.endpoint, "--key-id", KEY_ID, "--secret-file", file]
        call_command("root", "add", "stored", f"{store.uri}/sales", *options, stdout=out)
        return out.getvalue()

    with pytest.raises(CommandError, match="can't be read"):
        run(str(tmp_path / "none"))
    assert f"at {store.uri}/sales added" in run(str(tmp_path / "secret"))
    assert "already exists" in run(str(tmp_path / "secret"))
    assert object_stores.description_in(ObjectStore.objects.get()).secret == SECRET


def test_a_tables_page_says_what_writers_from_outside_risk(
    rita: Client, stored: Root, store: Store, root: Root, write: Any, admin: Any
) -> None:
    store.delta("sales/orders", 5, mode="append")
    table = additions.add_table(admin, f"{stored.uri}/orders").table
    local = additions.add_table(admin, str(write("orders"))).table
    assert "conditional writes" in text(rita.get(f"/tables/{table.pk}/"))
    assert "conditional writes" not in text(rita.get(f"/tables/{local.pk}/"))
    for name in ("history", "schema", "layout", "protocol"):
        assert rita.get(f"/tables/{table.pk}/{name}/").status_code == 200
    sizes = store.sizes("sales/orders/")
    assert len(sizes) == 2
    assert f"2 files, {size(sum(sizes))}, version 1, from the log." in text(rita.get(f"/tables/{table.pk}/layout/"))
    assert rita.get(f"{API}/tables/{table.pk}").json()["notes"] == ["unguarded_writers"]
    assert rita.get(f"{API}/tables/{local.pk}").json()["notes"] == []
