"""Which files can't, may and must match: sharp where the log is sure, and "may" wherever it isn't."""

import pytest

from tests.jobs.pruning.tables import add, column, stats, verdicts, write


def one(tmp_path, low, high, nulls, *, rows=10, **more):
    return write(tmp_path, [add(0, stats(rows, low, high, nulls))], **more)


# A file whose values lie from 10 to 20, or are all 10.
@pytest.mark.parametrize(
    ("text", "spread", "single"),
    [
        ("n = 5", "c", "c"),
        ("n = 10", "m", "M"),
        ("n = 15", "m", "c"),
        ("n <> 10", "m", "c"),
        ("n <> 5", "M", "M"),
        ("n < 10", "c", "c"),
        ("n <= 10", "m", "M"),
        ("n > 20", "c", "c"),
        ("n >= 10", "M", "M"),
        ("10 > n", "c", "c"),
        ("5 < n", "M", "M"),
        ("n <=> 10", "m", "M"),
        ("n <=> 30", "c", "c"),
        ("n <=> NULL", "c", "c"),
        ("n IS NULL", "c", "c"),
        ("n IS NOT NULL", "M", "M"),
        ("n IN (1, 2, 10)", "m", "M"),
        ("n IN (1, 30)", "c", "c"),
        ("n NOT IN (1, 30)", "M", "M"),
        ("n BETWEEN 1 AND 9", "c", "c"),
        ("n BETWEEN 10 AND 20", "M", "M"),
        ("NOT (n BETWEEN 10 AND 20)", "c", "c"),
        ("n = 5 OR n = 10", "m", "M"),
        ("n = 5 AND n = 10", "c", "c"),
        ("n >= 10 AND ok", "m", "m"),
        ("n < 10 AND ok", "c", "c"),
        ("n >= 10 OR ok", "M", "M"),
        ("n = '5'", "c", "c"),
        ("n = 5.0", "c", "c"),
        ("n = 10.5", "m", "m"),
        ("n < 10D", "c", "c"),
        ("n + 1 = 500", "m", "m"),
        ("n = id", "m", "m"),
        ("abs(n) = 5", "m", "m"),
        ("n = 2 * 2", "c", "c"),
    ],
)
def test_whole_numbers(tmp_path, text, spread, single):
    assert verdicts(one(tmp_path / "a", {"n": 10}, {"n": 20}, {"n": 0}), text) == spread
    assert verdicts(one(tmp_path / "b", {"n": 10}, {"n": 10}, {"n": 0}), text) == single


@pytest.mark.parametrize(
    ("text", "some", "every"),
    [
        ("n = 10", "m", "c"),
        ("n <> 5", "m", "c"),
        ("n <=> 10", "m", "m"),
        ("n <=> NULL", "m", "M"),
        ("n IS NULL", "m", "M"),
        ("n IS NOT NULL", "m", "c"),
        ("NOT (n = 10)", "m", "c"),
        ("n > 1 OR n IS NULL", "m", "M"),
        ("n > 1 AND n IS NULL", "m", "c"),
    ],
)
def test_nulls_are_neither_true_nor_false(tmp_path, text, some, every):
    assert verdicts(one(tmp_path / "a", {"n": 10}, {"n": 20}, {"n": 3}), text) == some
    if text != "n <=> 10":
        assert verdicts(one(tmp_path / "b", {}, {}, {"n": 10}), text) == every


@pytest.mark.parametrize(
    "text", ["n = 5", "n IS NULL", "n IS NOT NULL", "name = 'a'", "d > 1D", "born = DATE '2020-01-01'", "s.x = 1"]
)
@pytest.mark.parametrize(
    "stats_text", [None, "{}", "not json", "[]", '{"numRecords": 10}', '{"minValues": 5, "nullCount": "x"}']
)
def test_without_statistics_everything_may_match(tmp_path, text, stats_text):
    assert verdicts(write(tmp_path, [add(0, stats_text)]), text) == "m"


@pytest.mark.parametrize(
    ("name", "low", "high", "text"),
    [
        ("n", "10", "20", "n = 5"),
        ("n", 10.5, 20.5, "n = 5"),
        ("n", True, True, "n = 5"),
        ("d", "NaN", "NaN", "d = 5"),
        ("d", [1], {"a": 1}, "d = 5"),
        ("born", "2020", "2021", "born = DATE '1999-01-01'"),
        ("born", "2020-13-01", "2020-13-01", "born = DATE '1999-01-01'"),
        ("at", "2020-01-01 00:00:00", "2020-01-01 00:00:00", "at = TIMESTAMP '1999-01-01 00:00:00'"),
        ("local", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "local = TIMESTAMP_NTZ '1999-01-01 00:00:00'"),
        ("f", 10, 20, "f = 5"),
        ("ok", True, True, "ok = false"),
    ],
)
def test_odd_statistics_say_nothing(tmp_path, name, low, high, text):
    assert verdicts(one(tmp_path, {name: low}, {name: high}, {name: 0}), text) == "m"


def test_one_odd_file_doesnt_blur_the_others(tmp_path):
    texts = [stats(1, {"n": value}, {"n": value}, {"n": 0}) for value in (1, "x", 3)]
    assert verdicts(write(tmp_path, [add(at, text) for at, text in enumerate(texts)]), "n = 3") == "cmM"


def test_nan_is_above_every_number(tmp_path):
    table = one(tmp_path, {"d": 1.5}, {"d": 2.5}, {"d": 0})
    assert verdicts(table, "d > 9D") == "m"
    assert verdicts(table, "d < 1D") == "c"
    assert verdicts(table, "d < 9D") == "m"
    assert verdicts(table, "d > 1D") == "M"
    assert verdicts(table, "d = 9D") == "c"
    assert verdicts(table, "NOT (d < 9D)") == "m"


def test_texts_that_may_be_cut_are_no_upper_bound(tmp_path):
    cut = "b" * 32
    table = one(tmp_path, {"name": cut}, {"name": cut}, {"name": 0})
    assert verdicts(table, f"name = '{cut}c'") == "m"
    assert verdicts(table, "name > 'c'") == "m"
    assert verdicts(table, "name < 'a'") == "c"
    assert verdicts(table, f"name = '{cut}'") == "m"
    assert verdicts(table, "name >= 'b'") == "M"


def test_a_mark_of_cutting_is_no_upper_bound(tmp_path):
    assert verdicts(one(tmp_path, {"name": "b"}, {"name": "b\ufffd"}, {"name": 0}), "name > 'c'") == "m"


def test_a_shorter_prefix_length_is_heeded(tmp_path):
    table = one(
        tmp_path,
        {"name": "bbbb"},
        {"name": "bbbb"},
        {"name": 0},
        properties={"delta.dataSkippingStringPrefixLength": "4"},
    )
    assert verdicts(table, "name = 'c'") == "m"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name LIKE 'a%'", "c"),
        ("name LIKE 'b%'", "m"),
        ("name LIKE 'bz%'", "c"),
        ("name LIKE 'c%'", "m"),
        ("name LIKE 'd%'", "c"),
        ("name LIKE '%d'", "m"),
        ("name LIKE 'd'", "c"),
        ("name NOT LIKE 'd%'", "M"),
        ("startswith(name, 'd')", "c"),
        ("endswith(name, 'd')", "m"),
    ],
)
def test_likes_are_ruled_out_by_their_beginning(tmp_path, text, expected):
    low = "c" if "bz" in text else "b"
    assert verdicts(one(tmp_path, {"name": low}, {"name": "cz"}, {"name": 0}), text) == expected


def test_times_are_kept_to_the_millisecond(tmp_path):
    at = "2020-01-01T00:00:00.000Z"
    table = one(tmp_path, {"at": at}, {"at": at}, {"at": 0})
    assert verdicts(table, "at = TIMESTAMP '2020-01-01 00:00:00.000999'") == "m"
    assert verdicts(table, "at = TIMESTAMP '2020-01-01 00:00:00.001'") == "c"
    assert verdicts(table, "at <= TIMESTAMP '2020-01-01 00:00:00'") == "m"
    assert verdicts(table, "at < DATE '2020-01-02'") == "M"
    assert verdicts(table, "at >= '2020-01-02'") == "c"


def test_offsets_of_times_are_heeded(tmp_path):
    at = "2020-01-01T01:00:00.000+02:00"
    table = one(tmp_path, {"at": at}, {"at": at}, {"at": 0})
    assert verdicts(table, "at < TIMESTAMP '2020-01-01 00:00:00'") == "M"


def test_decimals_are_compared_with_room(tmp_path):
    table = one(tmp_path, {"price": 1.10}, {"price": 99999999.99}, {"price": 0})
    assert verdicts(table, "price < 1.09") == "c"
    assert verdicts(table, "price < 1.10") in "cm"
    assert verdicts(table, "price = 1.10") == "m"
    assert verdicts(table, "price > 1") == "M"
    assert verdicts(table, "price > 100000000") == "c"


def test_fields_of_structs_have_statistics(tmp_path):
    table = one(tmp_path, {"s": {"x": 1}}, {"s": {"x": 2}}, {"s": {"x": 0}})
    assert verdicts(table, "s.x = 5") == "c"
    assert verdicts(table, "S.X < 5") == "M"
    assert verdicts(table, "s IS NULL") == "m"


def test_mapped_columns_are_found_by_their_physical_names(tmp_path):
    columns = [column("n", "integer", physical="col-1"), column("p", "string", physical="col-2")]
    text = stats(1, {"col-1": 10, "n": 1}, {"col-1": 20, "n": 1}, {"col-1": 0})
    mapped = {"delta.columnMapping.mode": "name"}
    adds = [add(0, text, {"col-2": "a"}), add(1, text, {"col-2": "b"})]
    table = write(tmp_path, adds, columns=columns, partitions=["p"], properties=mapped)
    assert verdicts(table, "n = 1") == "cc"
    assert verdicts(table, "n >= 10 AND p = 'b'") == "cM"


DAYS = [
    add(0, None, {"day": "2020-01-01", "country": "FR"}),
    add(1, None, {"day": "2020-02-01", "country": None}),
    add(2, None, {"day": "x", "country": ""}),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day = DATE '2020-01-01'", "Mcm"),
        ("day < '2020-02-01'", "Mcm"),
        ("month(day) = 2", "cMm"),
        ("year(day) * 100 + month(day) = 202001", "Mcm"),
        ("country IS NULL", "cMc"),
        ("country IS NOT NULL", "McM"),
        ("country = ''", "ccM"),
        ("length(country) = 0", "ccM"),
        ("country = 'FR'", "Mcc"),
        ("country <> 'FR'", "ccM"),
        ("lower(country) LIKE 'f_'", "Mcc"),
        ("country = 'FR' AND month(day) = 2", "ccc"),
        ("country = 'FR' OR n = 1", "Mmm"),
        ("country IN ('DE', 'FR') AND day IN ('2020-01-01')", "Mcc"),
        ("day + 1 = DATE '2020-01-02'", "Mcm"),
        ("CAST(day AS timestamp) = TIMESTAMP '2020-01-01 00:00:00'", "Mcm"),
    ],
)
def test_partition_values_are_exact(tmp_path, text, expected):
    assert verdicts(write(tmp_path, DAYS, partitions=["day", "country"]), text) == expected


@pytest.mark.parametrize(
    ("kind", "value", "text", "expected"),
    [
        ("integer", "7", "p = 7", "M"),
        ("integer", "7", "p > 7", "c"),
        ("integer", "x", "p = 7", "m"),
        ("decimal(5,2)", "1.50", "p = 1.5", "M"),
        ("decimal(5,2)", "NaN", "p = 1.5", "m"),
        ("decimal(5,2)", "1.505", "p = 1.5", "m"),
        ("decimal(5,2)", "1.505", "p = 1.505", "m"),
        ("decimal(5,2)", "1000.0", "p = 1.5", "m"),
        ("string", "__HIVE_DEFAULT_PARTITION__", "p IS NULL", "c"),
        ("string", "__HIVE_DEFAULT_PARTITION__", "p = '__HIVE_DEFAULT_PARTITION__'", "M"),
        ("integer", "__HIVE_DEFAULT_PARTITION__", "p IS NULL", "m"),
        ("integer", "", "p IS NULL", "m"),
        ("integer", "", "p IS NOT NULL", "m"),
        ("integer", None, "p IS NULL", "M"),
        ("date", "", "p IS NULL OR n = 1", "m"),
        ("boolean", "true", "p", "M"),
        ("boolean", "false", "p", "c"),
        ("double", "1.5", "p = 1.5D", "m"),
        ("timestamp", "2020-01-01T00:00:00.000000Z", "p = TIMESTAMP '2020-01-01 00:00:00'", "M"),
        ("timestamp", "2020-01-01 00:00:00", "p = TIMESTAMP '1999-01-01 00:00:00'", "m"),
        ("timestamp_ntz", "2020-01-01 00:00:00", "p = TIMESTAMP_NTZ '1999-01-01 00:00:00'", "c"),
    ],
)
def test_partition_values_of_every_type(tmp_path, kind, value, text, expected):
    columns = [column("n", "integer"), column("p", kind)]
    assert verdicts(write(tmp_path, [add(0, None, {"p": value})], columns=columns, partitions=["p"]), text) == expected


def test_very_many_partitions_are_compared_all_at_once(tmp_path, monkeypatch):
    from jobs.pruning import partitions

    monkeypatch.setattr(partitions, "MOST_STEPS", 0)
    table = write(tmp_path, DAYS, partitions=["day", "country"])
    assert verdicts(table, "day = DATE '2020-01-01'") == "Mcm"
    assert verdicts(table, "country IN ('DE', 'FR')") == "Mcc"
    assert verdicts(table, "country NOT IN ('DE', 'FR')") == "ccM"
    assert verdicts(table, "country = ''") == "ccM"
    assert verdicts(table, "country IS NULL") == "cMc"
    assert verdicts(table, "day IS NULL") == "ccm"
    assert verdicts(table, "country IS NULL AND day > DATE '2020-01-31'") == "cMc"
    assert verdicts(table, "lower(country) = 'fr'") == "mmm"


def test_many_options_are_ruled_out_by_their_ends(tmp_path):
    table = one(tmp_path, {"n": 10}, {"n": 20}, {"n": 0})
    assert verdicts(table, f"n IN ({', '.join(map(str, range(100, 150)))})") == "c"
    assert verdicts(table, f"n IN ({', '.join(map(str, range(0, 50)))})") == "m"


def test_padded_and_collated_texts_may_match(tmp_path):
    columns = [column("c", "string"), column("k", "string")]
    columns[0]["metadata"] = {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
    columns[1]["metadata"] = {"__COLLATIONS": {"k": "icu.UNICODE_CI"}}
    bounds = ({"c": "b", "k": "b"}, {"c": "b", "k": "b"}, {"c": 0, "k": 0})
    table = one(tmp_path, *bounds, columns=columns)
    assert verdicts(table, "c = 'a'") == "m"
    assert verdicts(table, "k = 'B'") == "m"


@pytest.mark.parametrize(
    ("before", "now", "value", "sure"),
    [
        ("float", "double", 0.7, False),
        ("half", "double", 0.7, False),
        (None, "double", 0.7, False),
        ("integer", "double", 7, True),
        ("byte", "long", 7, True),
        ("integer", "decimal(12,2)", 7, True),
        ("decimal(5,1)", "decimal(12,2)", 0.5, True),
    ],
)
def test_bounds_from_before_a_widening_count_where_values_stayed_what_they_were(tmp_path, before, now, value, sure):
    """A float of 0.7 is 0.699999988 as a double, and its statistics still say 0.7."""
    widened = column("n", now)
    widened["metadata"]["delta.typeChanges"] = [{"toType": now, "fromType": before}]
    table = one(tmp_path, {"n": value}, {"n": value}, {"n": 0}, columns=[widened])
    assert verdicts(table, "n < 0") == ("c" if sure else "m")
    assert verdicts(table, "n IS NOT NULL") == "M"


@pytest.mark.parametrize("changes", ["float", [5], {"fromType": "float"}, [{}]])
def test_type_changes_that_cant_be_read_leave_no_bounds(tmp_path, changes):
    widened = column("n", "double")
    widened["metadata"]["delta.typeChanges"] = changes
    table = one(tmp_path, {"n": 0.7}, {"n": 0.7}, {"n": 0}, columns=[widened])
    assert verdicts(table, "n < 0.1") == "m"
