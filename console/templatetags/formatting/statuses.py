"""States as icon and word."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.templatetags.formatting.icons import icon
from console.templatetags.formatting.looks import STATE_LOOKS, StateLook


def state_line(state: StateLook) -> SafeString:
    """A state of any kind, with `tone`, `icon` and `word`, as icon and word."""
    return format_html('<span class="lv-status lv-is-{}">{}{}</span>', state.tone, icon(state.icon), state.word)


def status(state: str, pill: bool = False, word: str = "") -> SafeString:
    """A state as icon and word; `pill=True` is the coloured form for page headers. `word` replaces the usual word."""
    return _status(state, bool(pill), word, settings.STORAGES["staticfiles"]["BACKEND"])


@lru_cache(maxsize=512, typed=True)  # a text that is safe already isn’t the same as one that isn’t
def _status(state: str, pill: bool, word: str, _storage: str) -> SafeString:
    look = STATE_LOOKS[state]
    classes = f"lv-status {'lv-pill ' if pill else ''}lv-is-{look.tone}"
    return format_html('<span class="{}">{}{}</span>', classes, icon(look.icon), word or look.word)
