"""The page that drops a feature: what can be dropped and why not the others, the steps, the job."""

import html as markup
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from jobs.commands.drop_feature.log import from_log
from jobs.commands.drop_feature.rules import DropFeature
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.models import Job
from jobs.targets.subject import subject_of
from tests import factories
from tests.clients import browser
from tests.jobs import small_delta


@pytest.fixture
def sales(db, tmp_path):
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "sales", [{"id": 1, "p": "FR"}], writer=3)
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def test_the_page_offers_what_can_be_dropped_and_says_why_the_others_cannot(client, sales):
    answer = client.get(f"/tables/{sales.pk}/drop-feature/")
    text = shown(answer)
    assert '<option value="checkConstraints">' in text
    assert '<option value="appendOnly">' not in text
    assert "Cannot drop appendOnly because dropping this feature is not supported." in text
    assert "1 day apart" in text


def test_a_chosen_feature_is_previewed(client, sales):
    answer = client.get(f"/tables/{sales.pk}/drop-feature/", {"feature": "checkConstraints"})
    assert "One commit takes checkConstraints out of the protocol." in shown(answer)
    assert "Needs 1 approval" in shown(answer)


def test_a_request_names_a_feature_and_a_reason(client, sales):
    answer = client.post(f"/tables/{sales.pk}/drop-feature/", {"do": "request", "reason": "r"})
    assert (answer.status_code, "Choose the feature" in shown(answer)) == (400, True)
    given = {"do": "request", "feature": "checkConstraints"}
    answer = client.post(f"/tables/{sales.pk}/drop-feature/", given)
    assert (answer.status_code, "Enter a reason" in shown(answer)) == (400, True)
    assert not Job.objects.exists()


def test_the_button_makes_the_job(client, sales):
    given = {"do": "request", "feature": "checkConstraints", "reason": "older engines"}
    answer = client.post(f"/tables/{sales.pk}/drop-feature/", given)
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    assert "Drop the feature checkConstraints of sales" in shown(client.get(f"/jobs/{job.pk}/"))


def test_after_the_first_step_pages_say_when_the_second_can_be_taken(client, sales):
    action = {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"],
    }  # fmt: skip
    small_delta.commit(Path(sales.path), "UPGRADE PROTOCOL", [{"protocol": action}])
    asked: dict[str, Any] = {"feature": "deletionVectors", "truncate_history": True}
    ready = (timezone.now() + timedelta(hours=20, minutes=5)).isoformat()
    result = Result(1, "EMPTY COMMIT", details={"text": "Wait.", "commits": [], "ask_again_after": ready})
    job = factories.job(
        State.SUCCEEDED, table=sales, command="drop_feature", version=1, result=result.as_json(),
        parameters={"table": str(sales.pk), "path": sales.path, **asked},
        preview=from_log(subject_of(sales.pk), DropFeature(str(sales.pk), "deletionVectors", True)),
    )  # fmt: skip
    again = f"/tables/{sales.pk}/drop-feature/?feature=deletionVectors&truncate_history=on"
    assert f'href="{again}">Ask for the second step' in shown(client.get(f"/jobs/{job.pk}/"))
    text = shown(client.get(again))
    assert "The first step is done. Earliest time for the second:" in text
    assert ">in 21 h</time>" in text
    assert "It is too early for the second step" in text


def test_a_viewer_may_not(sales):
    assert browser(factories.person_with("viewer")).get(f"/tables/{sales.pk}/drop-feature/").status_code == 403
