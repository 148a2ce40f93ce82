from django.urls import path

from jobs.web.profiles import api, row_views, views

urlpatterns = [
    path("tables/<uuid:table_id>/profile/", views.profile, name="profile"),
    path("tables/<uuid:table_id>/profile/rows/", row_views.by_rows, name="profile_by_rows"),
    path("reads/<uuid:read_id>/profile/", row_views.answer, name="profile_answer"),
]
api_urlpatterns = [path("tables/<uuid:table_id>/profile", api.TableProfile.as_view(), name="api_profile")]
