from django.urls import path

from jobs.web.profiles import api, views

urlpatterns = [path("tables/<uuid:table_id>/profile/", views.profile, name="profile")]
api_urlpatterns = [path("tables/<uuid:table_id>/profile", api.Profile.as_view(), name="api_profile")]
