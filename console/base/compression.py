"""Pages are compressed by Levee itself: not every instance has a proxy that would do it."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

REFUSED = re.compile(r"\bgzip\s*;\s*q=0(\.0*)?\s*(,|$)", re.IGNORECASE)  # named, as what is not wanted


class PagesCompressed(GZipMiddleware):
    """Pages and their fragments, for a browser that takes gzip. What is streamed, and the API's answers, stay as they are.

    The length of a compressed page tells nobody what is in it (BREACH): Django pads each by random bytes and masks the forms' tokens anew.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if not is_page or response.streaming:
            return response
        # The answer to HEAD has no body that could be compressed.
        if request.method == "HEAD" or REFUSED.search(request.headers.get("Accept-Encoding", "")):
            patch_vary_headers(response, ("Accept-Encoding",))
            return response
        return super().process_response(request, response)
