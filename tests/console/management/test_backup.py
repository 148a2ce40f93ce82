"""A backup, put back elsewhere: what was there is there again, and what happened since is neither lost silently nor done twice."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.audit.actor import Actor
from console.audit.integrity import heads
from console.audit.models import Event, Seal
from console.base import encryption
from console.management.backup import archive
from console.management.backup.aftermath import (
    OLDER_CHECKPOINT,
    UNCOMPARED_CHECKPOINT,
    Aftermath,
    _end_jobs,
    _stop_streams,
)
from console.supervisor.home import open_home
from console.supervisor.servers import postgres
from console.supervisor.tools import PROJECT
from jobs.dispatcher.late_commits import find_late_commits
from jobs.models import Job, Stream
from tables.models import Table
from tables.sync.table import sync
from tests import factories, servers
from tests.console import running
from tests.console.audit.making import sealed
from tests.factories import lakes
from tests.jobs import small_delta
from tests.patience import limit

pytestmark = [pytest.mark.servers, pytest.mark.django_db(transaction=True)]
QUERY = "3f1f2f6e-0000-4000-8000-000000000001"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A fresh home, and a directory of heads that outlives both homes."""
    place = tmp_path / "heads"
    monkeypatch.setattr(heads, "heads_file", lambda: place / "heads.jsonl")
    with running.new_home() as home:
        yield home, {"LEVEE_AUDIT_HEADS": str(place)}


def manage(elsewhere, *arguments):
    home, settings = elsewhere
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT,
        env=running.environment(home, 8000, **settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=limit(75),
    )


def backup(file: Path) -> str:
    out = io.StringIO()
    call_command("backup", str(file), stdout=out)
    return out.getvalue()


def stream_with_checkpoint(home: Path, table: Table, planned: int) -> Stream:
    """A running stream whose checkpoint in the home has planned batches 0 to `planned`."""
    made = factories.jobs.stream(table, state="running", run_by=factories.PersonFactory(), query_id=QUERY)
    place = home / "streams" / str(made.pk)
    for name in ("offsets", "commits"):
        (place / name).mkdir(parents=True)
        for batch in range(planned + 1):
            (place / name / str(batch)).write_text("v1\n{}")
    (place / "metadata").write_text(json.dumps({"id": QUERY}))
    Stream.objects.filter(pk=made.pk).update(
        checkpoint=str(place), definition={**made.definition, "checkpoint": str(place)}
    )
    return made


@pytest.fixture
def table(tmp_path) -> Table:
    """A Delta table that the catalog knows at its version."""
    (tmp_path / "lake").mkdir()
    made = lakes.sales_in(factories.RootFactory(uri=str(tmp_path / "lake")))
    return sync(made.pk)


def test_a_backup_comes_back_elsewhere_and_says_what_it_can_not_know(levee_home, tmp_path, elsewhere, table):
    waiting, running_job = factories.job("queued"), factories.job("running")
    stream = stream_with_checkpoint(levee_home.path, table, planned=1)
    sealed(5)
    heads.sign(*Seal.objects.order_by("-sequence").values_list("sequence", "hash")[0])
    encryption.encrypt("of an object store", "a bucket")  # makes the key
    assert "audit up to #" in backup(tmp_path / "b.tar")
    end = archive.manifest_of(tmp_path / "b.tar").sequence

    # What the backup doesn't know: events, heads beyond its chain, and a batch of the stream.
    sealed(4)
    heads.sign(*Seal.objects.order_by("-sequence").values_list("sequence", "hash")[0])
    small_delta.commit(
        Path(table.path), "STREAMING UPDATE", [{"txn": {"appId": QUERY, "version": 2, "lastUpdated": 1}}]
    )

    done = manage(elsewhere, "restore_backup", str(tmp_path / "b.tar"))
    assert done.returncode == 0, done.stderr
    assert "2 open jobs were cancelled" in done.stdout
    assert "revoke anew what was revoked" in done.stdout
    assert f"stream {stream.name}: its table is ahead of its checkpoint" in done.stdout
    assert f"table {table.name}: 1 commit after version {table.version}" in done.stdout

    home = elsewhere[0]
    assert not (home / "restoring").exists()
    for key in ("secret_key", encryption.FILE):
        assert (home / key).read_text() == (levee_home.path / key).read_text()
        assert (home / key).stat().st_mode & 0o077 == 0
    assert (home / "streams" / str(stream.pk) / "offsets" / "1").exists()
    again = manage(elsewhere, "restore_backup", str(tmp_path / "b.tar"))
    assert (again.returncode, "has a database already" in again.stderr) == (1, True)

    with servers.running_postgres(open_home(home)) as restored:
        with postgres.connect(restored) as connection:
            rows: dict[Any, str] = dict(connection.execute("select id, state from jobs_job").fetchall())
            assert (rows[waiting.pk], rows[running_job.pk]) == ("cancelled", "cancelling")
            ((state, error, checkpoint),) = connection.execute(
                "select state, error, checkpoint from jobs_stream"
            ).fetchall()
            assert (state, error["code"]) == ("failed", "checkpoint_older")
            assert checkpoint == str(home / "streams" / str(stream.pk))
            hosts = connection.execute("select host from jobs_attempt where job_id = %s", [running_job.pk]).fetchall()
            assert hosts == [("before the restore",)]
            ((notice,),) = connection.execute("select text from accounts_notice").fetchall()
            assert "1 table has newer commits" in notice
        verified = manage(elsewhere, "audit", "verify", "--json")
        assert [text.split(" at ")[0] for text in json.loads(verified.stdout)["restores"]] == [f"taken back to #{end}"]
        problems = [each["text"] for each in json.loads(verified.stdout)["problems"]]
        # Rows that factories wrote have no events; the chain, its heads and its definitions agree.
        assert [text for text in problems if "has no event" not in text] == []
    assert json.loads(heads.heads_file().read_text().splitlines()[-1])["last_head"] == Seal.objects.count()


def test_a_backup_whose_manifest_was_changed_takes_no_head_back(levee_home, tmp_path, elsewhere):
    sealed(2)
    backup(tmp_path / "b.tar")
    said = archive.extract(tmp_path / "b.tar", tmp_path / "parts")
    claimed = replace(said, sequence=0, hash="")
    archive.write(tmp_path / "c.tar", claimed, {name: tmp_path / "parts" / name for name in said.files})
    done = manage(elsewhere, "restore_backup", str(tmp_path / "c.tar"))
    assert done.returncode == 1
    assert "isn't the one that the backup names, #0: it was changed" in done.stderr.strip().splitlines()[-1]
    home = elsewhere[0]
    assert not [name for name in ("postgres/data", "restoring", "audit/key") if (home / name).exists()]
    assert not any("restored_to" in line for line in heads._lines())


def test_a_damaged_backup_leaves_the_home_without_a_database(levee_home, tmp_path, elsewhere):
    backup(tmp_path / "b.tar")
    content = bytearray((tmp_path / "b.tar").read_bytes())
    content[content.index(b"PGDMP") + 4_000] ^= 1
    (tmp_path / "b.tar").write_bytes(content)
    done = manage(elsewhere, "restore_backup", str(tmp_path / "b.tar"))
    assert done.returncode == 1
    assert "database.dump differs from its checksum" in done.stderr.strip().splitlines()[-1]
    assert not (elsewhere[0] / "postgres").exists()
    assert not (elsewhere[0] / "restoring").exists()


def test_a_backup_is_on_record_and_never_replaces_a_file(tmp_path):
    backup(tmp_path / "b.tar")
    event = Event.objects.get(action="instance.backup")
    assert event.object_name == str(tmp_path / "b.tar")
    with pytest.raises(CommandError, match="exists already"):
        backup(tmp_path / "b.tar")
    with pytest.raises(CommandError, match="is no directory"):
        backup(tmp_path / "none" / "b.tar")


def test_a_job_that_ran_after_the_backup_is_found_by_its_commit(table):
    """What `restore_backup` makes of a waiting job: cancelled, but looked for, since it may have run."""
    job = factories.jobs.queued_on(table, factories.PersonFactory())
    mark = json.dumps({"job": str(job.pk), "digest": job.digest})
    small_delta.commit(Path(table.path), "WRITE", [], userMetadata=mark)
    _end_jobs(Actor.system("tests"), Aftermath())
    assert find_late_commits() == 1
    job = Job.objects.get(pk=job.pk)
    assert (job.state, job.version) == ("cancelled", small_delta.head(Path(table.path)))


def test_a_stream_whose_table_can_not_be_read_is_not_taken_for_up_to_date(tmp_path, table):
    """Its table may hold batches that the checkpoint doesn't know; a table that can be read tells."""
    stream = stream_with_checkpoint(tmp_path, table, planned=1)
    found = Aftermath()
    Path(table.path).rename(tmp_path / "aside")  # as a disk that isn't mounted
    _stop_streams(Actor.system("tests"), found)
    stream.refresh_from_db()
    assert (stream.state, stream.state_text) == ("failed", UNCOMPARED_CHECKPOINT)
    assert stream.error == {"code": "checkpoint_older", "message": UNCOMPARED_CHECKPOINT}
    assert (found.older, found.uncompared) == ([stream.name], [stream.name])


@pytest.mark.parametrize(("batch", "reason"), [(1, None), (2, OLDER_CHECKPOINT)], ids=["known", "unknown"])
def test_a_stream_whose_table_can_be_read_is_compared_with_it(tmp_path, table, batch, reason):
    stream = stream_with_checkpoint(tmp_path, table, planned=1)
    small_delta.commit(
        Path(table.path), "STREAMING UPDATE", [{"txn": {"appId": QUERY, "version": batch, "lastUpdated": 1}}]
    )
    found = Aftermath()
    _stop_streams(Actor.system("tests"), found)
    assert (found.older, found.uncompared) == ([stream.name] if reason else [], [])
