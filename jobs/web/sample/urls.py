from django.urls import path

from jobs.web.sample import views

urlpatterns = [path("roots/sample-lake/remove/", views.remove, name="sample_remove")]
