from django.urls import path

from jobs import policy_views

app_name = "policies"

urlpatterns = [
    path("", policy_views.policies, name="list"),
    path("add/", policy_views.policy_add, name="add"),
    path("<uuid:policy_id>/", policy_views.policy, name="detail"),
    path("<uuid:policy_id>/switch/", policy_views.policy_switch, name="switch"),
    path("<uuid:policy_id>/remove/", policy_views.policy_remove, name="remove"),
]
