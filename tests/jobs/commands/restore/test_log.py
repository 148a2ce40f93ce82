"""What a restore does beside the rows, by the log alone: the clustering columns that the table goes back to."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string

from jobs.commands.restore.log import from_log
from jobs.models import Job
from jobs.targets.subject import subject_of
from jobs.web.commands.restore.serializers import RestorePreviewSerializer
from tables.models import Table
from tests import factories
from tests.clients import browser
from tests.factories import lakes, person_with
from tests.jobs import small_delta

CLUSTERED = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["clustering", "domainMetadata"]}


@pytest.fixture
def sales(db: None, tmp_path: Path) -> Table:
    return lakes.sales_in(factories.RootFactory(name="lake", uri=str(tmp_path)))


def cluster_by(table: Table, *columns: list[str], protocol: dict[str, Any] | None = None) -> int:
    """Commits as `ALTER TABLE … CLUSTER BY` does; answers the version."""
    text = json.dumps({"clusteringColumns": list(columns)})
    domain = {"domainMetadata": {"domain": "delta.clustering", "configuration": text, "removed": False}}
    small_delta.commit(Path(table.path), "CLUSTER BY", [{"protocol": protocol or CLUSTERED}, domain])
    return small_delta.head(Path(table.path))


def change(table: Table, version: int) -> Any:
    return from_log(subject_of(table.pk), version)["clustering_change"]


def test_clustering_goes_back_to_that_of_the_older_version(sales: Table) -> None:
    before = cluster_by(sales, ["id"])
    cluster_by(sales, ["p"])
    assert change(sales, before) == {"before": ["p"], "after": ["id"]}
    person = browser(person_with("operator"))
    shown = " ".join(
        html.unescape(person.get(f"/tables/{sales.pk}/restore/?version={before}").content.decode()).split()
    )
    assert '<span class="lv-mono">p</span> becomes <span class="lv-mono">id</span>' in shown


def test_of_many_properties_that_change_the_page_and_the_review_say_how_many(
    sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.commands.restore.log.NAMED_PROPERTIES", 2)
    first = (Path(sales.path) / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    [metadata] = [action["metaData"] for action in map(json.loads, first) if "metaData" in action]
    given = metadata | {"configuration": {"a": "1", "b": "2", "c": "3"}}
    small_delta.commit(Path(sales.path), "SET TBLPROPERTIES", [{"metaData": given}])
    preview = from_log(subject_of(sales.pk), 0)
    assert (len(preview["property_changes"]), preview["num_property_changes"]) == (2, 3)
    review = render_to_string(
        "jobs/restore/what.html", {"job": Job(table=sales, parameters={"version": 0}), "preview": preview}
    )
    page = browser(person_with("operator")).get(f"/tables/{sales.pk}/restore/?version=0").content.decode()
    for text in (review, page):
        assert "These are 2 of 3 properties that change." in text
    assert "3 properties too" in " ".join(page.split())


def test_the_review_and_the_api_say_so_and_an_older_preview_goes_without(sales: Table) -> None:
    before = cluster_by(sales, ["id"])
    cluster_by(sales, ["p"])
    preview = from_log(subject_of(sales.pk), before)
    job = Job(table=sales, parameters={"version": before})
    review = render_to_string("jobs/restore/what.html", {"job": job, "preview": preview})
    assert "Clustering columns" in review
    assert RestorePreviewSerializer(preview).data["clustering_change"] == {"before": ["p"], "after": ["id"]}
    del preview["clustering_change"]
    assert RestorePreviewSerializer(preview).data["clustering_change"] is None


def test_a_version_that_was_not_clustered_leaves_no_clustering(sales: Table) -> None:
    cluster_by(sales, ["id"], ["p"])
    assert change(sales, 0) == {"before": ["id", "p"], "after": []}
    person = browser(person_with("operator"))
    shown = " ".join(html.unescape(person.get(f"/tables/{sales.pk}/restore/?version=0").content.decode()).split())
    assert '<span class="lv-mono">id, p</span> becomes <span class="lv-mono">none</span>' in shown


def test_clustering_removed_since_comes_back(sales: Table) -> None:
    before = cluster_by(sales, ["id"])
    cluster_by(sales)
    assert change(sales, before) == {"before": [], "after": ["id"]}


def test_clustering_that_stays_is_not_named(sales: Table) -> None:
    before = cluster_by(sales, ["id"])
    small_delta.append(Path(sales.path), [{"id": 77, "p": "FR"}])
    assert change(sales, before) is None


def test_a_domain_without_the_feature_is_no_clustering(sales: Table) -> None:
    plain = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["domainMetadata"]}
    before = cluster_by(sales, ["p"], protocol=plain)
    cluster_by(sales, ["id"])
    assert change(sales, before) == {"before": ["id"], "after": []}
