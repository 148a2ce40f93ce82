from django.urls import path

from jobs.web.metastore import api, views

urlpatterns = [
    path("tables/metastore/", views.databases, name="metastore"),
    path("tables/metastore/answers/<uuid:read_id>/", views.answer, name="metastore_answer"),
    path("tables/metastore/added/<uuid:read_id>/", views.added, name="metastore_added"),
    path("tables/metastore/<str:database>/", views.tables, name="metastore_tables"),
]
api_urlpatterns = [
    path("metastore/databases", api.Databases.as_view(), name="api_metastore_databases"),
    path("metastore/databases/<str:database>/tables", api.Tables.as_view(), name="api_metastore_tables"),
]
