from django.urls import path

from tables import explanation_views, table_views, views

app_name = "tables"

urlpatterns = [
    path("", views.table_list, name="list"),
    path("values/", views.values, name="values"),
    path("add/", views.add, name="add"),
    path("roots/<uuid:root_id>/", views.findings, name="findings"),
    path("roots/<uuid:root_id>/schedule/", views.schedule, name="schedule"),
    path("roots/<uuid:root_id>/scan/", views.scan, name="scan"),
    path("<uuid:table_id>/", table_views.overview, name="overview"),
    path("<uuid:table_id>/schema/", table_views.schema, name="schema"),
    path("<uuid:table_id>/history/", table_views.history, name="history"),
    path("<uuid:table_id>/commits/<int:version>/", table_views.commit, name="commit"),
    path("<uuid:table_id>/commits/<int:version>/acknowledge/", explanation_views.acknowledge, name="acknowledge"),
    path("<uuid:table_id>/protocol/", table_views.protocol, name="protocol"),
    path("<uuid:table_id>/layout/", table_views.layout, name="layout"),
    path("<uuid:table_id>/compare/", table_views.compare, name="compare"),
    path("<uuid:table_id>/partitions/", table_views.partitions, name="partitions"),
    path("<uuid:table_id>/sync/", table_views.sync, name="sync"),
    path("<uuid:table_id>/describe/", table_views.describe, name="describe"),
    path("<uuid:table_id>/hide/", table_views.hide, name="hide"),
]
