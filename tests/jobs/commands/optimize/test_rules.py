"""How Delta packs files, by hand."""

from jobs.commands.optimize.rules import MAX_FILE_BYTES, File, is_candidate, packed

MIB = 1 << 20


def sizes(*files: File) -> list[list[int]]:
    return [[file.size // MIB for file in group] for group in packed(files)]


def file(mib: int, partition: int = 0, **more) -> File:
    return File(partition, mib * MIB, 100, **more)


def test_small_files_of_a_partition_are_joined_smallest_first_up_to_a_gibibyte():
    assert sizes(file(600), file(300), file(500), file(100)) == [[100, 300, 500]]


def test_a_file_alone_stays_as_it_is():
    assert sizes(file(1), file(1, partition=1)) == []
    assert sizes(file(700), file(800)) == []


def test_large_files_are_left_unless_many_of_their_rows_are_deleted():
    large = MAX_FILE_BYTES
    assert not is_candidate(File(0, large, 100))
    assert not is_candidate(File(0, large, 100, has_vector=True, deleted=5))
    assert is_candidate(File(0, large, 100, has_vector=True, deleted=6))
    assert is_candidate(File(0, large, None, has_vector=True, deleted=1))
    assert is_candidate(File(0, large - 1, 100))
