"""The dashboard shows every metric that there is, and none that there isn't."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client.metrics import MetricWrapperBase

from console.metrics import figures, requests

DASHBOARD = Path(__file__).parents[3] / "docs" / "operating" / "grafana-levee.json"
HANDBOOK = DASHBOARD.parents[1] / "operating.md"
PARTS = {"bucket", "sum", "count"}  # of a histogram


def metrics():
    """The names as a scrape has them; a histogram's without its parts."""
    families = [family for source in figures.SOURCES for family in source.families]
    families += [figures.DATABASE_UP, figures.REDIS_UP, figures.REFUSED_WAKE_UPS]
    names = [f"{family.name}_total" if family.counts else family.name for family in families]
    return {*names, "levee_requests_total", "levee_request_seconds"}


@pytest.fixture(scope="module")
def dashboard():
    return json.loads(DASHBOARD.read_text())


@pytest.fixture(scope="module")
def drawn(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def test_it_names_every_metric_and_no_other(drawn):
    named = {name for p in drawn for t in p["targets"] for name in re.findall(r"\blevee_\w+", t["expr"])}
    assert {re.sub(f"(?<=_seconds)_({'|'.join(PARTS)})$", "", name) for name in named} == metrics()


def test_the_list_of_metrics_here_is_that_of_the_process():
    made = {name for name, value in vars(requests).items() if isinstance(value, MetricWrapperBase)}
    assert made == {"COUNT", "SECONDS"}


def test_a_legend_names_labels_that_its_metric_has(drawn):
    labels = {f.name: source.labels for source in figures.SOURCES for f in source.families}
    for panel in drawn:
        for target in panel["targets"]:
            name = re.findall(r"\blevee_\w+", target["expr"])[0].removesuffix("_total")
            known = labels.get(name, requests.LABELS if name.startswith("levee_request") else ())
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= set(known), target


def test_panels_do_not_overlap(dashboard):
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_the_handbook_explains_every_metric():
    assert set(re.findall(r"`(levee_\w+)`", HANDBOOK.read_text())) >= metrics()
