"""How Delta packs files, by hand."""

from jobs.domain.packing import bins

MIB = 1 << 20


def groups(*sizes: int) -> list[list[int]]:
    return [[sizes[place] for place in group] for group in bins([size * MIB for size in sizes])]


def test_small_files_are_joined_up_to_a_gibibyte():
    assert groups(100, 300, 500, 600) == [[100, 300, 500]]
    assert groups(100, 300, 624) == [[100, 300, 624]]


def test_each_group_begins_where_the_last_is_full():
    assert groups(400, 500, 500, 520, 520) == [[400, 500], [500, 520]]


def test_a_file_alone_stays_as_it_is():
    assert groups(1) == groups() == groups(700, 800) == groups(2000) == []


def test_a_reorg_writes_a_file_alone_again_as_well():
    assert list(bins([700 * MIB, 800 * MIB], alone=True)) == [range(1), range(1, 2)]
    assert list(bins([], alone=True)) == []
