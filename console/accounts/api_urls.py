from django.urls import path

from console.accounts import api

urlpatterns = [
    path("tokens", api.Tokens.as_view(), name="api_tokens"),
    path("tokens/<uuid:token_id>", api.TokenDetail.as_view(), name="api_token"),
    path("people", api.People.as_view(), name="api_people"),
    path("people/<uuid:person_id>", api.PersonDetail.as_view(), name="api_person"),
    path("grants", api.Grants.as_view(), name="api_grants"),
    path("grants/<uuid:grant_id>", api.GrantDetail.as_view(), name="api_grant"),
]
