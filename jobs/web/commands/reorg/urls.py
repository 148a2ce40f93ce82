from django.urls import URLPattern, path

from jobs.web.commands.reorg import pages

urlpatterns = [path("tables/<uuid:table_id>/reorg/", pages.reorg, name="reorg")]
api_urlpatterns: list[URLPattern] = []
