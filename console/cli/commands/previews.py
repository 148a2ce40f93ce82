"""The group of previews, which each command fills with its own."""

from __future__ import annotations

import click


@click.group()
def preview() -> None:
    """Show what a change would do. Nothing is changed."""
