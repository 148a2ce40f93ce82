"""The filters and tags of every page: icons, sizes, numbers, times, states. Each is made in a module of `formatting`.

A built-in library of every template. Filters take None for unknown, which is a word on the page, never -1 or empty.
"""

from __future__ import annotations

from django import template

from console.templatetags.formatting import fields, icons, looks, quantities, statuses, texts, times

register = template.Library()

number = register.filter(quantities.number)
counted = register.filter(quantities.counted)
size = register.filter("bytes", quantities.size)
duration = register.filter(quantities.duration)
version = register.filter(quantities.version)

unknown = register.simple_tag(texts.unknown)
partition_value = register.filter(texts.partition_value)
code_parts = register.filter(texts.code_parts)
short_id = register.filter(texts.short_id)
pairs = register.filter(texts.pairs)
machine_command = register.simple_tag(texts.machine_command)
last_part = register.filter(texts.last_part)
long_word = register.filter(texts.long_word)
spark_type = register.filter(texts.spark_type)

ago = register.filter(times.ago)
ago_between = register.simple_tag(times.ago_between)
since = register.filter(times.since)
clock = register.filter(times.clock)
exact = register.filter(times.exact)
in_full = register.filter(times.in_full)
day_and_clock = register.filter(times.day_and_clock)
zone = register.simple_tag(times.zone)

icon = register.simple_tag(icons.icon)
state_line = register.simple_tag(statuses.state_line)
status = register.simple_tag(statuses.status)
level_look = register.filter(looks.level_look)
stage_look = register.filter(looks.stage_look)
event_look = register.filter(looks.event_look)

control = register.filter(fields.control)
