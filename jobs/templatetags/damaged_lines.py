"""What a stored definition of a stream does with damaged lines, and whether a round tells of them."""

from __future__ import annotations

from django import template

from jobs.web.streams import damaged_lines

register = template.Library()
register.filter("why_uncounted", damaged_lines.why_uncounted_by)
register.filter("tell_damaged_lines", damaged_lines.tell_damaged_lines)
