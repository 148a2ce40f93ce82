"""The catalog's part of `/api/v1/`."""

from __future__ import annotations

from django.urls import path

from tables.web.api import attributions as explanation_api
from tables.web.api.history import CommitDetail, CommitFiles, Compare, History, Reachability
from tables.web.api.layout import FileLayout, GrowthByDay, Partitions
from tables.web.api.roots import (
    Additions,
    RootDetail,
    RootFindings,
    RootList,
    RootPause,
    RootResume,
    RootStorage,
    RootTest,
)
from tables.web.api.schemas import SchemaAt, SchemaChanges, SchemaCompare
from tables.web.api.tables import TableDetail, TableFacets, TableFavourite, TableList, TableProtocol, TableSync

_TABLE = "tables/<uuid:table_id>"
urlpatterns = [
    path("roots", RootList.as_view()),
    path("roots/test", RootTest.as_view()),
    path("roots/<uuid:root_id>", RootDetail.as_view()),
    path("roots/<uuid:root_id>/storage", RootStorage.as_view()),
    path("roots/<uuid:root_id>/findings", RootFindings.as_view()),
    path("roots/<uuid:root_id>/additions", Additions.as_view()),
    path("roots/<uuid:root_id>/pause", RootPause.as_view()),
    path("roots/<uuid:root_id>/resume", RootResume.as_view()),
    path("tables", TableList.as_view()),
    path("tables/facets", TableFacets.as_view()),
    path(_TABLE, TableDetail.as_view()),
    path(f"{_TABLE}/favourite", TableFavourite.as_view()),
    path(f"{_TABLE}/sync", TableSync.as_view()),
    path(f"{_TABLE}/protocol", TableProtocol.as_view()),
    path(f"{_TABLE}/history", History.as_view()),
    path(f"{_TABLE}/commits/<int:version>", CommitDetail.as_view()),
    path(f"{_TABLE}/commits/<int:version>/files", CommitFiles.as_view()),
    path(f"{_TABLE}/commits/<int:version>/acknowledge", explanation_api.Acknowledge.as_view()),
    path(f"{_TABLE}/reachability", Reachability.as_view()),
    path(f"{_TABLE}/compare", Compare.as_view()),
    path(f"{_TABLE}/schema", SchemaAt.as_view()),
    path(f"{_TABLE}/schema/changes", SchemaChanges.as_view()),
    path(f"{_TABLE}/schema/compare", SchemaCompare.as_view()),
    path(f"{_TABLE}/layout", FileLayout.as_view()),
    path(f"{_TABLE}/growth", GrowthByDay.as_view()),
    path(f"{_TABLE}/partitions", Partitions.as_view()),
]
