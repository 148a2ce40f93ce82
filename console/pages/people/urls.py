from django.urls import path

from console.pages.people import notice_views, people_views, program_views, session_views, views

app_name = "accounts"

urlpatterns = [
    path("sign-in/", session_views.SignIn.as_view(), name="sign_in"),
    path("sign-in/program/", program_views.sign_in_program, name="sign_in_program"),
    path("first-sign-in/", session_views.first_sign_in, name="first_sign_in"),
    path("sign-out/", session_views.sign_out, name="sign_out"),
    path("confirm/", session_views.confirm, name="confirm"),
    path("account/draft/discard/", session_views.discard_draft, name="draft_discard"),
    path("account/password/", session_views.change_password, name="change_password"),
    path("account/theme/", views.theme, name="theme"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<uuid:token_id>/revoke/", views.revoke_token, name="revoke_token"),
    path("notices/<uuid:notice_id>/acknowledge/", notice_views.acknowledge, name="notice_acknowledge"),
    path("people/", people_views.people, name="people"),
    path("people/add/", people_views.person_add, name="person_add"),
    path("people/<uuid:person_id>/", people_views.person, name="person"),
    path("people/<uuid:person_id>/first-link/", people_views.first_link, name="first_link"),
    path("people/<uuid:person_id>/access/", people_views.person_access, name="person_access"),
    path("people/<uuid:person_id>/grants/", people_views.grant_add, name="grant_add"),
    path("people/<uuid:person_id>/grants/<uuid:grant_id>/remove/", people_views.grant_remove, name="grant_remove"),
]
