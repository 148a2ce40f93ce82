"""Convert: the directory is looked at by Spark, and once more by the run itself."""

from __future__ import annotations

from jobs import outcomes
from jobs.domain.results import Inspection
from jobs.handling.base import Drift, Found, Measured
from jobs.models import Job


class ConvertHandling:
    """The preview is the inspection; files that come and go afterwards are named in the result."""

    def preview(self, job: Job, measured: Measured) -> Found:
        found = measured(None)
        if not isinstance(found, Inspection):
            raise TypeError(f"a convert is previewed by an inspection, not by {type(found).__name__}")
        nothing = outcomes.ALREADY_DELTA if found.already_delta else None
        return Found(found.as_json(), None, nothing_to_do=nothing, refusals=found.refusals)

    def unmeasured(self, job: Job, seconds: float) -> Found | None:
        return None

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return None

    def look(self, job: Job) -> Drift | None:
        return None
