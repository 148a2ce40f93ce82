from django.urls import URLPattern, path

from jobs.web.commands.clone import pages

urlpatterns = [path("tables/<uuid:table_id>/clone/", pages.clone, name="clone")]
api_urlpatterns: list[URLPattern] = []
