from django.urls import URLPattern, path

from jobs.web.commands.drop_feature import pages

urlpatterns = [path("tables/<uuid:table_id>/drop-feature/", pages.drop_feature, name="drop_feature")]
api_urlpatterns: list[URLPattern] = []
