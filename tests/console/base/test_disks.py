"""What room is left, in states and words; and what is known as a full disk, whoever says it."""

import errno
from dataclasses import replace

import psycopg.errors
import pytest
import redis
from django.db import OperationalError
from django.test import Client

from console.base import disks
from console.base.disks import FULL_BYTES, LOW_BYTES, Disk, DiskRoom, fullest, says_full
from tests import small_disks

HOME = Disk("home", "LEVEE_HOME's disk", 10 * LOW_BYTES, None, True)


@pytest.mark.parametrize(
    ("free", "files", "room"),
    [
        (LOW_BYTES, None, DiskRoom.ENOUGH),
        (LOW_BYTES - 1, None, DiskRoom.LOW),
        (FULL_BYTES, 1_000, DiskRoom.LOW),
        (FULL_BYTES - 1, None, DiskRoom.FULL),
        (10 * LOW_BYTES, 3, DiskRoom.FULL),
    ],
)
def test_room_is_low_before_it_is_gone(free, files, room):
    assert replace(HOME, free_bytes=free, free_files=files).room is room


def test_a_disk_without_files_says_so():
    assert replace(HOME, free_files=3).left == "3 more files fit"
    assert replace(HOME, free_bytes=5 << 20).left == "5 MiB are left"


def test_the_disk_that_keeps_requests_out_is_spoken_of_first():
    temporary = replace(HOME, place="temporary", free_bytes=0, records=False)
    assert fullest([HOME, temporary]) is temporary
    full = replace(HOME, free_bytes=1)
    assert fullest([temporary, full]) is full


def wrapped(cause: Exception) -> Exception:
    """As Django wraps what psycopg raises."""
    error = OperationalError("could not write")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        wrapped(psycopg.errors.DiskFull('could not extend file "base/1/2"')),
        OperationalError('FATAL:  could not write lock file "postmaster.pid": No space left on device'),
        redis.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"),
    ],
)
def test_every_voice_of_a_full_disk_is_known(error):
    assert says_full(error)


def test_other_troubles_are_no_full_disk():
    assert not says_full(OperationalError("the server has gone"))
    assert not says_full(OSError(errno.EACCES, "Permission denied"))


@pytest.fixture
def full_home(settings, levee_home):
    """The instance's home on a disk without room, seen by statvfs as it is."""
    with small_disks.small_disk(1) as place:
        settings.ENV = replace(settings.ENV, home=place)
        vars(settings.ENV)["embedded"] = {"pg_data": str(levee_home.path / "postgres" / "data"), "run_dir": "/tmp"}
        yield place


def test_a_change_is_refused_naming_the_disk_and_looking_goes_on(client: Client, db, full_home, redis_server):
    refused = client.post("/api/v1/people", {"name": "eve"}, "application/json")
    assert (refused.status_code, refused.json()["code"], refused.json()["disk"]) == (503, "disk_full", "home")
    assert "Nothing was done." in refused.json()["detail"]
    assert refused["Retry-After"]
    page = client.post("/people/add/", {"name": "eve"})
    assert (page.status_code, "disk is full" in page.content.decode()) == (503, True)
    for job in ("3582c178", "3582c178-0000-4000-8000-000000000000"):  # what ends a job frees room, by its short id too
        assert client.post(f"/api/v1/jobs/{job}/cancel").status_code == 401
        assert client.post(f"/api/v1/jobs/{job}/comment").status_code == 503
    assert client.get("/sign-in/").status_code == 200
    assert client.post("/sign-in/", {"username": "nobody", "password": "x"}).status_code != 503


def test_health_names_a_full_disk(client: Client, db, full_home, redis_server):
    answer = client.get("/health/ready")
    part = answer.json()["parts"]["disk"]
    assert (answer.status_code, part["state"], part["place"]) == (503, "full", "home")
    assert part["free_bytes"] < FULL_BYTES


def test_every_page_names_a_disk_that_is_nearly_full(client: Client, db, monkeypatch):
    from tests import factories

    client.force_login(factories.person_with("viewer"))
    monkeypatch.setattr(disks, "LOW_BYTES", 1 << 60)  # every disk is
    page = client.get("/jobs/").content.decode()
    assert "disk is nearly full." in page
