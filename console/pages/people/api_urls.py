from django.urls import path

from console.pages.people import api, me_api, notices_api, sign_ins_api

urlpatterns = [
    path("me", me_api.Me.as_view(), name="api_me"),
    path("me/token", me_api.OwnToken.as_view(), name="api_own_token"),
    path("sign-ins", sign_ins_api.SignIns.as_view(), name="api_sign_ins"),
    path("sign-ins/<uuid:sign_in_id>", sign_ins_api.SignInDetail.as_view(), name="api_sign_in"),
    path("tokens", api.Tokens.as_view(), name="api_tokens"),
    path("tokens/<uuid:token_id>", api.TokenDetail.as_view(), name="api_token"),
    path("people", api.People.as_view(), name="api_people"),
    path("people/<uuid:person_id>", api.PersonDetail.as_view(), name="api_person"),
    path("grants", api.Grants.as_view(), name="api_grants"),
    path("grants/<uuid:grant_id>", api.GrantDetail.as_view(), name="api_grant"),
    path("notices", notices_api.Notices.as_view(), name="api_notices"),
    path(
        "notices/<uuid:notice_id>/acknowledge", notices_api.NoticeAcknowledge.as_view(), name="api_notice_acknowledge"
    ),
]
