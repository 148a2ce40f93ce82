from django.urls import path

from tables.web.list import commit_views, views
from tables.web.table import attribution_views, change_views, history_views, layout_views, overview_views, schema_views

app_name = "tables"

urlpatterns = [
    path("", views.table_list, name="list"),
    path("values/", views.values, name="values"),
    path("add/", views.add, name="add"),
    path("commits/", commit_views.commits, name="commits"),
    path("roots/<uuid:root_id>/", views.findings, name="findings"),
    path("roots/<uuid:root_id>/add-all/", views.add_all, name="add_all"),
    path("roots/<uuid:root_id>/scan/", views.scan, name="scan"),
    path("<uuid:table_id>/", overview_views.overview, name="overview"),
    path("<uuid:table_id>/schema/", schema_views.schema, name="schema"),
    path("<uuid:table_id>/history/", history_views.history, name="history"),
    path("<uuid:table_id>/commits/", history_views.commit_of, name="commit_of"),
    path("<uuid:table_id>/commits/<int:version>/", history_views.commit, name="commit"),
    path("<uuid:table_id>/commits/<int:version>/acknowledge/", attribution_views.acknowledge, name="acknowledge"),
    path("<uuid:table_id>/protocol/", overview_views.protocol, name="protocol"),
    path("<uuid:table_id>/layout/", layout_views.layout, name="layout"),
    path("<uuid:table_id>/compare/", schema_views.compare, name="compare"),
    path("<uuid:table_id>/partitions/", layout_views.partitions, name="partitions"),
    path("<uuid:table_id>/sync/", change_views.sync, name="sync"),
    path("<uuid:table_id>/describe/", change_views.describe, name="describe"),
    path("<uuid:table_id>/favourite/", change_views.favourite, name="favourite"),
    path("<uuid:table_id>/hide/", change_views.hide, name="hide"),
]
