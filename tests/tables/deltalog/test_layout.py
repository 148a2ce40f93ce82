from tables.deltalog import layout_of
from tests.tables.deltalog.writing import add, vector


def layout(writer, log, target, *adds, partition=(), limit: int = 1000):
    writer.create(*adds, partition=partition)
    snapshot = log.snapshot(target=target)
    return layout_of(snapshot.files(), snapshot.physical_partition_columns, limit)


def test_an_empty_table_has_an_empty_layout(writer, log, target):
    found = layout(writer, log, target, partition=["day"])
    assert (found.num_files, found.size_bytes, found.num_records, found.median, found.partitions) == (0, 0, 0, None, ())


def test_sizes_fall_into_bins(writer, log, target):
    found = layout(
        writer, log, target, add("a", size=1000), add("b", size=1024), add("c", size=5000), add("d", size=5001)
    )
    assert [(b.low, b.high, b.num_files, b.size_bytes) for b in found.histogram] == [
        (0, 1024, 1, 1000),
        (1024, 4096, 1, 1024),
        (4096, 16384, 2, 10001),
    ]
    assert (found.smallest, found.median, found.largest) == (1000, 1024, 5001)


def test_small_files_are_counted(writer, log, target):
    found = layout(writer, log, target, add("a", size=(32 << 20) - 1), add("b", size=32 << 20))
    assert (found.small_files, found.small_bytes) == (1, (32 << 20) - 1)


def test_partitions_are_summed_and_the_largest_come_first(writer, log, target):
    adds = [add(f"f{n}", size=100 * (n % 3 + 1), partition={"day": f"d{n % 3}"}) for n in range(9)]
    found = layout(writer, log, target, *adds, partition=["day"], limit=2)
    assert [(p.values, p.num_files, p.size_bytes, p.num_records) for p in found.partitions] == [
        (("d2",), 3, 900, 30),
        (("d1",), 3, 600, 30),
    ]
    assert found.num_partitions == 3
    assert found.largest_partition_share == 0.5


def test_the_null_partition_is_one_of_them(writer, log, target):
    found = layout(writer, log, target, add("a", partition={"day": None}), add("b", partition={}), partition=["day"])
    assert [(p.values, p.num_files) for p in found.partitions] == [((None,), 2)]


def test_unknown_rows_stay_unknown(writer, log, target):
    adds = (add("a", rows=None, partition={"day": "1"}), add("b", rows=5, partition={"day": "2"}))
    found = layout(writer, log, target, *adds, partition=["day"])
    assert found.num_records is None
    assert found.files_with_stats == 1
    assert {p.values[0]: p.num_records for p in found.partitions} == {"1": None, "2": 5}


def test_rows_of_deletion_vectors_do_not_count(writer, log, target):
    marked = add("a", rows=10, partition={"day": "1"}, deletionVector=vector("v", 4))
    found = layout(writer, log, target, marked, partition=["day"])
    assert (found.num_records, found.deleted_rows, found.files_with_vectors) == (6, 4, 1)
    assert found.partitions[0].num_records == 6


def test_an_unknown_size_makes_the_sum_unknown(writer, log, target):
    found = layout(writer, log, target, add("a", size=-1), add("b", size=10))
    assert found.size_bytes is None
    assert found.largest == 10
