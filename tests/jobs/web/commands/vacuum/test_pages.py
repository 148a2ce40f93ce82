"""The page that asks for a vacuum: what the log says before, what is refused, the job and its review."""

import html as markup
import json
import os
from pathlib import Path

import pytest

from console.audit.actor import Actor
from console.templatetags.levee import size
from jobs.commands.vacuum.wording import figures
from jobs.models import Job
from tables.models import Commit
from tests import factories
from tests.clients import browser
from tests.jobs.commands.vacuum.asked import approved_vacuum


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def test_the_page_says_what_would_go_and_draws_it(client, sales):
    answer = client.get(f"/tables/{sales.pk}/vacuum/", {"retention_hours": "12"})
    assert answer.status_code == 200
    assert answer.context["preview"]["files"] == 6
    text = shown(answer)
    assert "You can no longer read or restore version 2." in text
    assert "Versions after the vacuum" in text
    assert "Bytes freed by hours of retention" in text
    assert "Needs 2 approvals" in text
    dying = [span for span in answer.context["drawn"]["spans"] if span.first == 2]
    assert not dying[0].restorable


def test_a_long_log_is_told_by_the_totals_of_its_commits(client, sales, monkeypatch):
    exact = client.get(f"/tables/{sales.pk}/vacuum/", {"retention_hours": "12"}).context["preview"]
    monkeypatch.setattr("jobs.commands.vacuum.log.preview.MOST_BYTES", 0)
    answer = client.get(f"/tables/{sales.pk}/vacuum/", {"retention_hours": "12"})
    preview = answer.context["preview"]
    assert (preview["exact"], preview["files"], preview["bytes"]) == (False, exact["files"], exact["bytes"])
    assert preview["curve"] == exact["curve"]
    # Which files each version needs isn't read: any before the newest removal may lose some.
    assert versions(exact) <= versions(preview)


def versions(preview):
    """Those that die."""
    return {version for first, last in preview["dying_versions"] for version in range(first, last + 1)}


def test_its_review_shows_the_files_by_age_by_the_commit_that_removed_them_and_some_of_them(client, sales):
    job = approved_vacuum(Actor.acting_for(factories.person_with("operator")), sales, 12)
    text, preview = shown(client.get(f"/jobs/{job.pk}/review/")), job.preview or {}
    assert len(preview["by_age"]) > 1
    assert sorted(row["version"] for row in preview["by_commit"]) == [1, 2, 3]
    for row in preview["by_commit"]:
        assert f'<tr><th scope="row">v{row["version"]}</th><td class="n">{row["files"]}</td>' in text
    assert f"Removed by version, the {len(preview['by_commit'])} that removed most" in text
    for row in preview["by_age"]:
        assert f'<td class="n">{row["files"]}</td><td class="n">{size(row["bytes"])}</td>' in text
    assert preview["sample"]
    assert all(f'<li class="lv-mono lv-break">{path}</li>' in text for path in preview["sample"])


@pytest.mark.parametrize(("hours", "is_said"), [("12", True), ("", False)])
def test_that_delta_s_safety_check_is_off_is_said_beforehand(client, sales, hours, is_said):
    text = shown(client.get(f"/tables/{sales.pk}/vacuum/", {"retention_hours": hours}))
    assert ("Delta’s safety check is off for this run" in text) is is_said


def test_bytes_that_the_log_does_not_tell_are_unknown(client, sales):
    remove_sizes(Path(sales.path))
    answer = client.get(f"/tables/{sales.pk}/vacuum/", {"retention_hours": "12"})
    preview = answer.context["preview"]
    assert (preview["files"], preview["bytes"], {row["bytes"] for row in preview["curve"][:3]}) == (6, None, {None})
    assert answer.context["drawn"]["curve"] is None
    assert "Bytes to delete</dt><dd>0" not in shown(answer)
    [figure] = [figure for figure in figures(preview) if figure.label == "Bytes to delete"]
    assert (figure.value, figure.why_unknown) == (None, "the log doesn’t say how large every file is")


def remove_sizes(path: Path) -> None:
    """From every tombstone, as a writer may leave them out."""
    for commit in (path / "_delta_log").glob("*.json"):
        told = commit.stat()
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            action.get("remove", {}).pop("size", None)
        commit.write_text("\n".join(map(json.dumps, actions)))
        os.utime(commit, (told.st_mtime, told.st_mtime))


def test_the_destructive_commits_are_in_the_drawing(client, sales):
    answer = client.get(f"/tables/{sales.pk}/vacuum/")
    assert answer.context["drawn"]["strip"].diamonds == []
    assert "destructive, no approved job" not in shown(answer)
    Commit.objects.filter(table=sales, version=3).update(operation="DELETE", removal="replaced")
    answer = client.get(f"/tables/{sales.pk}/vacuum/")
    assert [diamond.is_hollow for diamond in answer.context["drawn"]["strip"].diamonds] == [True]
    assert "destructive, no approved job" in shown(answer)


def test_the_tables_own_retention_needs_one_approval(client, sales):
    assert "Needs 1 approval" in shown(client.get(f"/tables/{sales.pk}/vacuum/"))


@pytest.mark.parametrize("hours", ["-1", "1.5", "week", "9999999"])
def test_what_is_no_retention_is_said_on_the_page(client, sales, hours):
    answer = client.post(f"/tables/{sales.pk}/vacuum/", {"retention_hours": hours, "reason": "r", "do": "request"})
    assert answer.status_code == 400
    assert answer.context["form"].errors["retention_hours"]
    assert not Job.objects.exists()


def test_the_button_makes_the_job_and_its_page_leads_back_with_the_same_values(client, sales):
    given = {"retention_hours": "200", "lite": "on", "reason": "make room", "do": "request"}
    answer = client.post(f"/tables/{sales.pk}/vacuum/", given)
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    assert (job.parameters["retention_hours"], job.parameters["lite"]) == (200, True)
    assert "Vacuum the old files of sales by its log, keeping 200 hours" in shown(client.get(f"/jobs/{job.pk}/"))


def test_a_viewer_may_not(sales):
    assert browser(factories.person_with("viewer")).get(f"/tables/{sales.pk}/vacuum/").status_code == 403
