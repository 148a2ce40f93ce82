"""Headers of every response, whatever produces it: its address, and that no one may cache it."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

Answers = Callable[[HttpRequest], HttpResponse]


class NothingIsKept:
    """Pages and answers of the API are private: no browser or proxy stores them. Static files say for themselves how long they hold."""

    def __init__(self, get_response: Answers) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


class OwnAddress:
    """Links are built from LEVEE_PUBLIC_URL, whichever name of Levee's a request came by. Another's name stays, and is 400 further in."""

    def __init__(self, get_response: Answers) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        public = settings.ENV.public_origin
        if public is not None and _is_ours(request):
            scheme, _, host = public.partition("://")
            request.META |= {"wsgi.url_scheme": scheme, "HTTP_HOST": host}
        return self.get_response(request)


def _is_ours(request: HttpRequest) -> bool:
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return True
