"""The pipeline of docs/cli.md, run as it stands there, by the executable that set-up puts in place."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.cli.exits import Exit
from jobs.models import Job
from tests.console.cli.reference import PAGE
from tests.jobs import small_delta
from tests.patience import wait_for

BIN = Path(__file__).parents[3] / ".venv" / "bin"
Pipeline = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def pipeline(olga, sales: str, tmp_path: Path) -> Iterator[Pipeline]:
    """Starts the script with the secrets of a pipeline; nothing of it outlives the test."""
    found = re.search(r"<!-- example of a pipeline:[^\n]*\n```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    script = tmp_path / "pipeline.sh"
    script.write_text(found[1])
    started: list[subprocess.Popen[str]] = []

    def start(**more: str) -> "subprocess.Popen[str]":
        asked = {"TABLE": "sales", "ROWS": "p = 'FR'", "REASON": "the pipeline asks", "KEY": "run-17"}
        environment = {**os.environ, **olga.environment, **asked, **more, "PATH": f"{BIN}:{os.environ['PATH']}"}
        environment["PATH"] = f"{tmp_path / 'before'}:{environment['PATH']}"
        environment["HOME"] = str(tmp_path)
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(["sh", str(script)], cwd=tmp_path, env=environment, **piped))  # type: ignore[call-overload]
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def waiting_job() -> str:
    """The id of the job that the script has opened."""
    return str(wait_for(lambda: Job.objects.filter(state="previewing").first(), "a job is being previewed").pk)


def test_it_ends_well_once_the_delete_was_approved_and_has_run(pipeline, anna, sales, worker):
    run = pipeline()
    job = waiting_job()
    worker()
    assert anna("approve", job, "--yes").exit_code == 0
    worker()
    said, complained = run.communicate(timeout=300)
    assert run.returncode == Exit.DONE, complained
    assert f"/jobs/{job}" in said
    assert "Committed as version 1." in said
    assert {row["p"] for row in small_delta.rows_of(Path(sales))} == {"DE"}


def test_it_fails_when_the_delete_was_rejected(pipeline, anna, sales, worker):
    run = pipeline()
    job = waiting_job()
    worker()
    assert anna("reject", job, "--reason", "needed until March").exit_code == 0
    said, _ = run.communicate(timeout=300)
    assert run.returncode == Exit.REJECTED
    assert said.endswith("The delete was rejected.\n")
    again = pipeline()  # the same run of the pipeline: it joins the job that it opened
    assert (again.wait(300), Job.objects.filter(command="delete").count()) == (Exit.REJECTED, 1)


def test_it_withdraws_what_nobody_decided_in_time(pipeline, sales):
    run = pipeline(PATIENCE="0s")
    said, complained = run.communicate(timeout=300)
    assert run.returncode == Exit.NOT_RUN, complained
    assert "Nobody decided in time.\n" in said
    assert Job.objects.get(command="delete").state == "cancelled"


@pytest.mark.dear
def test_an_approval_that_comes_before_the_cancel_ends_it_as_the_delete_does(pipeline, anna, sales, worker, tmp_path):
    """The cancel itself waits here, until the delete has run."""
    os.mkfifo(tmp_path / "cancel")
    slow = tmp_path / "before" / "levee"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\n[ "$1 $2" != "jobs cancel" ] || read -r _ < {tmp_path}/cancel\nexec {BIN}/levee "$@"\n'
    )
    slow.chmod(0o755)
    run = pipeline(PATIENCE="0s")
    with (tmp_path / "cancel").open("w") as cancel:  # opens once the script is about to cancel
        job = waiting_job()
        worker()
        assert anna("approve", job, "--yes").exit_code == 0
        worker()
        cancel.write("now\n")
    said, complained = run.communicate(timeout=300)
    assert run.returncode == Exit.DONE, complained
    assert "It can't be cancelled." in said
    assert {row["p"] for row in small_delta.rows_of(Path(sales))} == {"DE"}
