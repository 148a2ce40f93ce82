"""A template rendered from its source."""

from django.template import Context, Template


def shown(source: str, **facts) -> str:
    """What the template makes of the facts, with the built-in filters and tags."""
    return Template(source).render(Context(facts))
