from django.urls import path

from console.pages.preferences import views

app_name = "preferences"

urlpatterns = [
    path("preferences/", views.preferences, name="page"),
    path("lists/", views.lists, name="lists"),
    path("filters/", views.filters, name="filters"),
]
