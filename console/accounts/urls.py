from django.urls import path

from console.accounts import session_views, views

app_name = "accounts"

urlpatterns = [
    path("sign-in/", session_views.SignIn.as_view(), name="sign_in"),
    path("sign-out/", session_views.sign_out, name="sign_out"),
    path("confirm/", session_views.confirm, name="confirm"),
    path("account/password/", session_views.change_password, name="change_password"),
    path("account/theme/", views.theme, name="theme"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<uuid:token_id>/revoke/", views.revoke_token, name="revoke_token"),
    path("people/", views.people, name="people"),
]
