from datetime import timedelta

import pytest

from console.templatetags.formatting import quantities


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1_023, "1,023 B"),
        (1_024, "1.00 KiB"),
        (10_239, "10.0 KiB"),
        (1_047_552, "1,023 KiB"),
        (1_048_063, "1,023 KiB"),
        (1_048_064, "1.00 MiB"),
        (90_838_859_776, "84.6 GiB"),
        (2**70, "1,024 EiB"),
    ],
)
def test_sizes_have_three_digits_and_binary_units(value, text):
    assert quantities.size(value) == text


def test_a_size_never_reads_as_1024_of_a_smaller_unit():
    for power in (20, 30, 40, 50):
        for below in (1, 2**8, 2 ** (power - 12)):
            assert not quantities.size(2**power - below).startswith("1,024 ")


def test_numbers_have_separators():
    assert quantities.number(1_284_930_112) == "1,284,930,112"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.04, "0.1 s"),
        (0.4, "0.4 s"),
        (0.97, "1 s"),
        (38, "38 s"),
        (59.6, "1 min"),
        (115, "1 min 55 s"),
        (3_599.7, "1 h"),
        (10_920, "3 h 2 min"),
        (86_400, "1 day"),
        (187_200, "2 days 4 h"),
        (timedelta(minutes=2, seconds=5), "2 min 5 s"),
        (-3, "0 s"),
    ],
)
def test_durations_have_at_most_two_units(seconds, text):
    assert quantities.duration(seconds) == text
