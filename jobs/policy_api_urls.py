from django.urls import path

from jobs import policy_api

urlpatterns = [
    path("policies", policy_api.Policies.as_view(), name="api_policies"),
    path("policies/<uuid:policy_id>", policy_api.PolicyDetail.as_view(), name="api_policy"),
]
