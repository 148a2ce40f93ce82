from django.urls import path

from jobs.web.commands.delete import api, pages

urlpatterns = [
    path("tables/<uuid:table_id>/delete/", pages.delete, name="delete"),
    path("tables/<uuid:table_id>/delete/preview/", pages.delete_preview, name="delete_preview"),
    path("tables/<uuid:table_id>/delete/count/", pages.delete_count, name="delete_count"),
    path("reads/<uuid:read_id>/counted/", pages.delete_counted, name="delete_counted"),
]
api_urlpatterns = [path("previews", api.Previews.as_view(), name="api_previews")]
