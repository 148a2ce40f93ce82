from django.http import HttpResponse
from django.urls import include, path


def v(request, **kw):
    return HttpResponse()


urlpatterns = [
    path("", v, name="home"),
    path("banners", v, name="banners"),
    path(
        "",
        include(
            (
                [
                    path("sign-in", v, name="sign_in"),
                    path("sign-out", v, name="sign_out"),
                    path("pw", v, name="change_password"),
                    path("tokens", v, name="tokens"),
                    path("tokens/<uuid:id>/revoke", v, name="revoke_token"),
                    path("people", v, name="people"),
                    path("theme", v, name="theme"),
                ],
                "accounts",
            )
        ),
    ),
    path("tables/", include(([path("", v, name="list"), path("add", v, name="add")], "tables"))),
    path(
        "",
        include(
            (
                [
                    path("jobs", v, name="list"),
                    path("jobs/<uuid:id>", v, name="detail"),
                    path("jobs/<uuid:id>/live", v, name="live"),
                    path("jobs/<uuid:id>/cancel", v, name="cancel"),
                    path("convert", v, name="convert"),
                    path("convert/again", v, name="inspect_again"),
                    path("workers", v, name="workers"),
                    path("workers/now", v, name="workers_now"),
                    path("workers/<uuid:id>/drain", v, name="worker_drain"),
                    path("workers/<uuid:id>/restart", v, name="worker_restart"),
                ],
                "jobs",
            )
        ),
    ),
]
