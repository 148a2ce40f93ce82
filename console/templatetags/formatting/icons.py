"""Icons of the sprite."""

from __future__ import annotations

from functools import cache, lru_cache

from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

# Busy icons turn; the movement stops where the reader asked for less motion.
TURNING_ICON = "loader-2"


def icon(name: str, label: str = "", extra: str = "") -> SafeString:
    """An icon of the sprite. Without a label it is decoration; with one it is an image that speaks."""
    return _icon(name, label, extra, settings.STORAGES["staticfiles"]["BACKEND"])


@lru_cache(maxsize=512, typed=True)  # a text that is safe already isn’t the same as one that isn’t
def _icon(name: str, label: str, extra: str, storage: str) -> SafeString:
    """Made once of each kind: a list has icons in each row."""
    turning = " lv-turn" if name == TURNING_ICON else ""
    classes = f"lv-icon{turning} {extra}".strip()
    target = f"{_sprite(storage)}#{name}"
    if not label:
        return format_html('<svg class="{}" aria-hidden="true"><use href="{}"/></svg>', classes, target)
    return format_html('<svg class="{}" role="img" aria-label="{}"><use href="{}"/></svg>', classes, label, target)


@cache
def _sprite(_storage: str) -> str:
    """The address of the icons in a storage of static files."""
    return static("levee/icons.svg")
