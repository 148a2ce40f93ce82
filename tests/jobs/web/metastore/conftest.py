"""A configured metastore whose answers tests give, as a worker with Spark would."""

from dataclasses import replace

import pytest

from jobs.models import Read
from tests import clock, factories

ADDRESS = "thrift://metastore.example:9083"


@pytest.fixture
def configured(settings):
    settings.ENV = replace(settings.ENV, metastore=ADDRESS)


@pytest.fixture
def with_spark(db):
    """A worker with Spark that is ready: without one no addition begins."""
    return factories.WorkerFactory(kind="interactive")


@pytest.fixture
def answered_with(monkeypatch):
    """While somebody waits, the interactive worker answers what was asked of the metastore with what `given` makes of the question."""

    def use(given):
        def meanwhile(_seconds):
            for read in Read.objects.filter(state="waiting", kind="metastore"):
                Read.objects.filter(pk=read.pk).update(state="answered", answer=given(read.question))

        clock.replace(monkeypatch, "jobs.reads.queue", sleep=meanwhile)

    return use


def entry(name, location=None, form="delta", kind="external", **more):
    """A table as the engine describes it."""
    return {
        "name": name, "type": kind, "format": form, "location": location, "schema": None, "partition_columns": None, **more,
    }  # fmt: skip


def page(*tables, database="shop", total=None, after=None):
    return {"database": database, "tables": list(tables), "total": total or len(tables), "next": after}
