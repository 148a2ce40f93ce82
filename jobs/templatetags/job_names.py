"""How templates name jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from jobs.web.jobs.naming import JobName, name_of

register = template.Library()
register.simple_tag(name_of, name="job_name")


@register.filter
def of_job(names: Mapping[str, JobName], job: Any) -> JobName | None:
    """The one of the job with this id."""
    return names.get(str(job)) if names else None
