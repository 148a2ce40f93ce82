from django.urls import path

from console.pages.help import views

urlpatterns = [
    path("", views.first_page, name="help"),
    path("<path:name>/", views.page, name="help_page"),
]
