"""Terms with a link to their paragraph of the help. A built-in library of every template."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.templatetags.levee import icon

register = template.Library()

CONCEPTS = "concepts"


@register.simple_tag
def term(anchor: str, text: str = "") -> SafeString:
    """A term and the link to what it means. `anchor` is its paragraph in docs/concepts.md; without `text`, the link alone.

    A guard test fails for an anchor that the page doesn't have.
    """
    address = f"{reverse('help_page', args=[CONCEPTS])}#{anchor}"
    said = f"Help: {anchor.replace('-', ' ')}"
    link = format_html('<a class="lv-term" href="{}" aria-label="{}">{}</a>', address, said, icon("help-circle"))
    return format_html("{} {}", text, link) if text else link
