from django.urls import include, path

from tables import api

urlpatterns = [path("api/v1/", include(api.urlpatterns))]
