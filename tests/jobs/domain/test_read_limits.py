"""What is too much to read, in words."""

import pytest

from jobs.domain import read_limits
from jobs.domain.errors import CommandRefused


def test_a_refusal_keeps_what_to_do_apart_from_what_is_wrong(monkeypatch):
    monkeypatch.setattr(read_limits, "MOST_FILES", 2)
    read_limits.refuse_excess("in this version", 2, 10, None, "Read less.")
    with pytest.raises(CommandRefused) as caught:
        read_limits.refuse_excess("in this version", 3, 10, None, "Read less.")
    (refusal,) = caught.value.refusals
    text = "There is too much to read: 3 files in this version, and one read takes at most 2."
    assert (refusal.code, refusal.message, refusal.remedy) == ("too_much_to_read", text, "Read less.")
