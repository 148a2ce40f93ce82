"""A plain directory that a running stream reads or writes isn't offered for conversion, and pages say why."""

from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Job, Stream
from tables.models import Finding
from tests import factories
from tests.clients import Caller, browser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
READS = "Not to be converted while the stream clicks reads its files: stop the stream first."
WRITES = "Not to be converted while the stream clicks writes here: its first commit makes the Delta table."


@pytest.fixture
def target():
    return factories.TableFactory(format="parquet", num_files=2)


@pytest.fixture
def landing(target):
    """The directory that the stream reads."""
    return factories.TableFactory(
        root=target.root, name="landing", path=f"{target.root.uri}/landing", format="parquet", num_files=3
    )


def stream(target, state="running"):
    more: dict[str, dict[str, Any]] = {
        "running": {"run_by": factories.PersonFactory()},
        "failed": {"error": {"code": "engine_failed"}},
    }
    return factories.stream(target, name="clicks", state=state, **more.get(state, {}))


@pytest.mark.parametrize("place", ["target", "landing", "inside", "above"])
def test_it_is_not_offered_while_the_stream_runs(place, target, landing):
    stream(target)
    table, why = {
        "target": (target, WRITES),
        "landing": (landing, READS),
        "inside": (factories.TableFactory(root=target.root, path=f"{landing.path}/day=1", format="parquet"), READS),
        "above": (factories.TableFactory(root=target.root, path=f"{target.root.uri}", format="parquet"), READS),
    }[place]
    client = browser(factories.person_with("operator"))
    page = client.get(f"/tables/{table.pk}/").content.decode()
    assert why in page
    assert "/convert/?path=" not in page
    assert "Convert…" not in {
        option.text
        for g in client.get("/find/", {"at": f"/tables/{table.pk}/"}).context["groups"]
        for option in g.options
    }
    assert why in client.get("/tables/").content.decode()


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_it_is_while_the_stream_does_not_run(state, target, landing):
    stream(target, state)
    client = browser(factories.person_with("operator"))
    assert client.get("/tables/").content.decode().count("Convert…") == 2
    for table in (target, landing):
        page = client.get(f"/tables/{table.pk}/").content.decode()
        assert "Not to be converted" not in page
        assert "/convert/?path=" in page


def test_a_directory_beside_it_is_offered(target):
    stream(target)
    beside = factories.TableFactory(root=target.root, path=f"{target.root.uri}/landing2", format="parquet", num_files=1)
    page = browser(factories.person_with("operator")).get(f"/tables/{beside.pk}/").content.decode()
    assert "/convert/?path=" in page


def test_a_find_says_so_too(target):
    stream(target)
    Finding.objects.create(root=target.root, path=f"{target.root.uri}/landing", kind="parquet", seen_at=timezone.now())
    page = browser(factories.person_with("operator")).get("/tables/add/").content.decode()
    assert READS in page
    assert "/convert/?path=" not in page


def test_the_convert_page_disables_its_button(target, landing, tmp_path):
    root = factories.RootFactory(uri=str(tmp_path))
    own = factories.TableFactory(root=root, path=f"{tmp_path}/out", format="parquet")
    (tmp_path / "landing").mkdir()
    person = factories.person_with("operator")
    path = f"{tmp_path}/landing"
    factories.read(person, question={"path": path}, state="answered", answer=factories.inspection(path))
    running = stream(own)
    page = browser(person).get("/convert/", {"path": path}).content.decode()
    assert (
        f'aria-describedby="why-not">Request conversion</button>\n        <p class="form-hint" id="why-not">{READS}'
        in page
    )
    running.state = "stopped"
    running.save()
    assert READS not in browser(person).get("/convert/", {"path": path}).content.decode()


@pytest.fixture
def place(tmp_path):
    """A root with a stream that reads `landing` and writes into `out`."""
    root = factories.RootFactory(uri=str(tmp_path))
    for name in ("landing/day=1", "out", "beside"):
        (tmp_path / name).mkdir(parents=True)
    stream(factories.TableFactory(root=root, path=f"{tmp_path}/out", format="parquet"))
    return tmp_path


def convert(directory):
    return {
        "command": "convert",
        "path": str(directory),
        "source_format": "parquet",
        "partition_schema": None,
        "reason": "x",
    }


@pytest.mark.parametrize(("name", "why"), [("landing", READS), ("landing/day=1", READS), (".", READS), ("out", WRITES)])
def test_a_request_to_convert_it_is_refused_while_the_stream_runs(place, name, why):
    answer = Caller(factories.person_with("operator")).post("/jobs", convert(place / name))
    assert (answer.status_code, answer.json()["code"]) == (409, "in_use")
    assert answer.json()["detail"] == f"{why} Nothing was requested."
    assert answer.json()["fields"] == {"path": why}
    assert not Job.objects.exists()


def test_the_page_s_request_is_refused_too(place):
    person = factories.person_with("operator")
    path = f"{place}/landing"
    factories.read(person, question={"path": path}, state="answered", answer=factories.inspection(path))
    answer = browser(person).post("/convert/", {"path": path, "reason": "x"})
    assert f"{READS} Nothing was requested." in answer.content.decode()
    assert not Job.objects.exists()


def test_a_request_to_convert_what_no_running_stream_is_at_is_taken(place):
    caller = Caller(factories.person_with("operator"))
    assert caller.post("/jobs", convert(place / "beside")).status_code == 201
    Stream.objects.update(state="stopped")
    assert caller.post("/jobs", convert(place / "landing")).status_code == 201


def test_a_delta_table_that_a_stream_writes_into_is_still_nothing_to_convert(place):
    (place / "out" / "_delta_log").mkdir()
    (place / "out" / "_delta_log" / "00000000000000000000.json").touch()
    assert Caller(factories.person_with("operator")).post("/jobs", convert(place / "out")).status_code == 201


def test_a_stream_that_one_may_not_see_has_no_name(landing, target):
    other = factories.TableFactory(format="parquet")
    definition = {"source": {"path": landing.path, "format": "json"}}
    hidden = stream(other)
    hidden.name = "secret"
    hidden.definition = {**hidden.definition, **definition}
    hidden.save()
    person = factories.person_with("operator", root=landing.root)
    page = browser(person).get(f"/tables/{landing.pk}/").content.decode()
    assert "Not to be converted while a stream reads its files" in page
    assert "secret" not in page


def test_the_list_says_how_many_are_found_and_not_added(target):
    client = browser(factories.person_with("operator"))
    assert "found, not added" not in client.get("/tables/").content.decode()
    for number in range(3):
        Finding.objects.create(
            root=target.root, path=f"{target.root.uri}/new{number}", kind="delta", seen_at=timezone.now()
        )
    Finding.objects.create(root=target.root, path=target.path, kind="parquet", seen_at=timezone.now())
    page = " ".join(client.get("/tables/").content.decode().split())
    assert '3 found, not added: <a href="/tables/add/">add them to the catalog</a>' in page
    assert "found, not added" not in client.get("/tables/", {"q": "landing"}).content.decode()
    assert "found, not added" not in browser(factories.person_with("viewer")).get("/tables/").content.decode()
