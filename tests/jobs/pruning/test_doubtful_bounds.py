"""Bounds that are cut, rounded or contradictory: nothing is said for certain by them, and files that Delta would skip are counted."""

from datetime import UTC, datetime

import pytest

from jobs.pruning import partitions
from jobs.pruning.skipping import Missed
from tests.jobs.pruning.tables import add, column, prediction, stats, verdicts, write

CUT = "1850-01-01T01:01:01.000+00:53"  # 00:07:33 UTC in Stockholm, whose offset was +00:53:28


def one(tmp_path, name, low, high, nulls=0, *, rows=1, kind=None):
    """A table with one file and one column."""
    kinds = {"at": "timestamp", "local": "timestamp_ntz", "born": "date", "d": "double", "f": "float", "s": "string"}
    columns = [column(name, kind or kinds.get(name, "long"))]
    low, high = ({} if side is None else {name: side} for side in (low, high))
    return write(tmp_path, [add(0, stats(rows, low, high, {name: nulls}))], columns=columns)


def skipping(table, text):
    return prediction(table, text).skipping


# --- times whose offset has lost its seconds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "verdict", "missed"),
    [
        ("at = TIMESTAMP '1850-01-01 00:07:33'", "m", 1),
        ("at < TIMESTAMP '1850-01-01 00:08:00'", "m", 1),
        ("at >= TIMESTAMP '1850-01-01 00:08:00'", "m", 0),
        ("at > TIMESTAMP '1850-01-01 00:08:30'", "m", 1),
        ("at = TIMESTAMP '1850-01-01 00:08:01'", "m", 0),
        ("at >= TIMESTAMP '1850-01-01 00:07:03'", "m", 0),
        ("at >= TIMESTAMP '1850-01-01 00:07:00'", "M", 0),
        ("at < TIMESTAMP '1850-01-01 00:07:00'", "c", 0),
        ("at > TIMESTAMP '1850-01-01 00:09:02'", "c", 0),
    ],
)
def test_an_offset_without_its_seconds_moves_the_bounds_apart(tmp_path, text, verdict, missed):
    table = one(tmp_path, "at", CUT, CUT)
    assert verdicts(table, text) == verdict
    assert skipping(table, text) == Missed(bounds=missed)
    assert prediction(table, text).rows_matched_exact is (verdict in "cM")


@pytest.mark.parametrize(
    ("written", "sharp"),
    [
        ("2020-01-01T01:00:00.000+01:00", True),
        ("1972-06-01T05:30:00.000+05:30", True),
        ("2020-01-01T01:00:00.000+01:07", False),  # of no place, but a session may have any
        ("1972-01-05T00:00:00.000-00:44", False),  # Monrovia, the last of all
        ("1900-01-01T02:30:00.000+02:30", False),  # Moscow: +02:30:17
        ("1890-01-01T01:00:00.000+0100", False),  # Stockholm: +01:00:14
        ("1900-01-01T00:00:00.000+00:00", False),  # a checkpoint's, whose text isn't known
        ("1850-01-01T00:53:28.000+00:53:28", True),
        ("1900-01-01T00:00:00.000Z", True),
        ("0001-01-01T00:00:00.000Z", True),
    ],
)
def test_only_offsets_that_can_have_lost_nothing_are_exact(tmp_path, written, sharp):
    table = one(tmp_path, "at", written, written)
    moment = exact_moment(written)
    assert verdicts(table, f"at < TIMESTAMP '{moment}'") == ("c" if sharp else "m")
    assert verdicts(table, f"at >= TIMESTAMP '{moment}'") == ("M" if sharp else "m")
    assert skipping(table, f"at < TIMESTAMP '{moment}'") == Missed(bounds=not sharp)


def exact_moment(written):
    """The written time in UTC, as a literal."""
    moment = datetime.fromisoformat(written)
    naive = (moment - datetime(1, 1, 1, tzinfo=UTC)) + datetime(1, 1, 1)
    return naive.isoformat(sep=" ")


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("at", "+10000-01-01T00:00:00.000Z", "+10000-01-01T00:00:00.000Z"),
        ("at", "-0044-03-15T00:00:00.000Z", "-0044-03-15T00:00:00.000Z"),
        ("at", "2020-01-01T00:00:00.000+24:00", "2020-01-01T00:00:00.000+24:00"),
        ("at", "2020-01-01T00:00:00.000+01:02:75", "2020-01-01T00:00:00.000+01:02:75"),
        ("at", "2020-01-01T00:00:00.000000001Z", "2020-01-01T00:00:00.000000001Z"),
        ("at", 1577836800000, 1577836800000),
        ("local", "2020-01-01T00:00:00.000+00:53", "2020-01-01T00:00:00.000+00:53"),
        ("born", "+10000-01-01", "+10000-01-01"),
        ("born", "2020-01-01T00:00:00", "2020-01-01T00:00:00"),
    ],
)
def test_times_of_another_form_say_nothing(tmp_path, name, low, high):
    table = one(tmp_path, name, low, high)
    literal = {"at": "TIMESTAMP", "local": "TIMESTAMP_NTZ", "born": "DATE"}[name]
    assert verdicts(table, f"{name} = {literal} '1999-01-01'") == "m"
    assert skipping(table, f"{name} = {literal} '1999-01-01'") == Missed()


def test_dates_before_the_gregorian_calendar_keep_their_order(tmp_path):
    table = one(tmp_path, "born", "0001-01-01", "1582-10-04")
    assert verdicts(table, "born > DATE '1582-10-10'") == "c"
    assert verdicts(table, "born <= DATE '1582-10-04'") == "M"
    assert verdicts(table, "born = DATE '1500-02-28'") == "m"


@pytest.mark.parametrize("name", ["at", "local"])
def test_a_time_cut_to_the_millisecond_is_delta_s_own_reading_too(tmp_path, name):
    zone, literal = ("Z", "TIMESTAMP") if name == "at" else ("", "TIMESTAMP_NTZ")
    at = f"2020-01-01T00:00:00.123{zone}"
    table = one(tmp_path, name, at, at)
    assert verdicts(table, f"{name} > {literal} '2020-01-01 00:00:00.123998'") == "m"
    assert verdicts(table, f"{name} > {literal} '2020-01-01 00:00:00.124'") == "c"
    assert skipping(table, f"{name} > {literal} '2020-01-01 00:00:00.123998'") == Missed()


# --- statistics that contradict themselves -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "nulls", "text", "missed"),
    [
        (20, 10, 0, "n = 15", 1),
        (20, 10, 0, "n >= 20", 1),
        (20, 10, 0, "n >= 5", 0),
        (20, 10, 0, "n IS NULL", 1),
        (10, 20, 5, "n IS NULL", 0),
        (10, 20, 5, "n = 30", 1),
        (None, None, 11, "n IS NOT NULL", 1),
        (None, None, 11, "n IS NULL", 0),
        (10, 20, -1, "n IS NULL", 1),
        (10, 20, -1, "n >= 10", 0),
        (10, 20, -1, "n < 10", 1),
        (10, 10, 10, "n = 10", 0),
        (10, 10, 10, "n IS NULL", 0),
        (10, 10, 10, "n = 11", 1),
    ],
)
def test_contradictions_leave_nothing_certain(tmp_path, low, high, nulls, text, missed):
    table = one(tmp_path, "n", low, high, nulls, rows=10 if nulls != 5 else 4)
    assert verdicts(table, text) == "m"
    assert skipping(table, text) == Missed(bounds=missed)


def test_texts_and_times_contradict_themselves_as_numbers_do(tmp_path):
    assert verdicts(one(tmp_path / "a", "s", "m", "b"), "s = 'c'") == "m"
    assert verdicts(one(tmp_path / "b", "born", "2021-01-01", "2020-01-01"), "born < DATE '2019-01-01'") == "m"
    assert verdicts(one(tmp_path / "c", "d", 2.5, 1.5), "d >= 1D") == "m"
    assert verdicts(one(tmp_path / "d", "f", 1.5, 1.5, 1), "f IS NULL") == "m"


def test_a_contradiction_of_one_column_leaves_the_others_certain(tmp_path):
    text = stats(1, {"a": 2, "b": 1}, {"a": 1, "b": 1}, {"a": 0, "b": 0})
    table = write(tmp_path, [add(0, text)], columns=[column("a", "long"), column("b", "long")])
    assert verdicts(table, "b = 1") == "M"
    assert verdicts(table, "a = 2 AND b = 2") == "c"
    assert skipping(table, "b = 1") == Missed()


@pytest.mark.parametrize("rows", [-1, 5.0, "5", 1 << 63, None])
def test_a_number_of_rows_that_is_none_is_unknown(tmp_path, rows):
    table = one(tmp_path, "n", 1, 1, rows=rows)
    found = prediction(table, "n = 1")
    assert (found.rows_matched, found.rows_matched_exact) == (None, False)
    assert verdicts(table, "n IS NOT NULL") == "M"
    assert verdicts(table, "n IS NULL") == "c"


# --- values of another JSON type ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "low", "text"),
    [
        ("long", "10", "n = 5"),
        ("long", 9007199254740993.0, "n = 5"),
        ("long", 1e16, "n = 5"),
        ("long", 1 << 63, "n = 5"),
        ("double", "NaN", "n < 0D"),
        ("double", "Infinity", "n < 0D"),
        ("double", "1.5", "n < 0D"),
        ("decimal(10,2)", "1.10", "n = 5"),
        ("string", 5, "n = 'a'"),
        ("string", "a\ufffdb", "n < 'a'"),
        ("date", 18262, "n = DATE '1999-01-01'"),
        ("boolean", True, "n = false"),
    ],
)
def test_values_of_another_type_say_nothing(tmp_path, kind, low, text):
    assert verdicts(one(tmp_path, "n", low, low, kind=kind), text) == "m"


def test_long_whole_numbers_keep_every_digit(tmp_path):
    table = one(tmp_path, "n", (1 << 53) + 1, (1 << 53) + 1)
    assert verdicts(table, f"n = {(1 << 53) + 1}") == "M"
    assert verdicts(table, f"n = {1 << 53}") == "c"


@pytest.mark.parametrize(("written", "asked"), [(-0.0, "0D"), (0.0, "-0.0D")])
def test_negative_zero_is_zero(tmp_path, written, asked):
    table = one(tmp_path, "d", written, written)
    assert verdicts(table, f"d = {asked}") == "m"
    assert verdicts(table, f"d < {asked}") == "c"
    assert verdicts(table, f"d >= {asked}") == "M"


@pytest.mark.parametrize("end", ["", "\x7f", "\ufffd", "\U0010ffff"])
def test_a_cut_text_ends_nothing_whatever_it_ends_with(tmp_path, end):
    table = one(tmp_path, "s", "b" * 32, "b" * 32 + end)
    assert verdicts(table, f"s = '{'b' * 40}'") == "m"
    assert verdicts(table, f"s >= '{'b' * 32}'") == "M"
    assert verdicts(table, "s > 'c'") == "m"
    assert (
        skipping(table, "s > 'c'") == Missed()
    )  # Delta's writers end a cut text so that it is no lower than the whole


# --- decimals that a double has rounded --------------------------------------------------------------------------------


LONG = "12345678901234567.89"  # 12345678901234568.0 as a double


def decimals(tmp_path, written, kind="decimal(38,2)"):
    """A file whose one decimal was written so, digit by digit."""
    text = f'{{"numRecords":1,"minValues":{{"n":{written}}},"maxValues":{{"n":{written}}},"nullCount":{{"n":0}}}}'
    return write(tmp_path, [add(0, text)], columns=[column("n", kind)])


@pytest.mark.parametrize(
    ("written", "text", "missed"),
    [
        ("1.2345678901234568e16", f"n = {LONG}", 1),
        ("12345678901234568.0", "n < 12345678901234568", 1),
        ("12345678901234568.0", "n = 12345678901234568", 0),
        (LONG, f"n > {LONG}", 0),  # as Spark writes it
        (LONG, f"n = {LONG}", 0),
        ("12345678901234568.0", "n > 5", 0),
    ],
)
def test_a_decimal_rounded_by_a_double_may_match_where_delta_skips(tmp_path, written, text, missed):
    table = decimals(tmp_path, written)
    assert verdicts(table, text) == ("M" if text == "n > 5" else "m")
    assert skipping(table, text) == Missed(bounds=missed)


@pytest.mark.parametrize(
    ("kind", "written", "text", "missed"),
    [
        ("decimal(38,18)", "123.45", "n > 123.45", 1),  # may have been 123.450000000000000001
        ("decimal(38,18)", "123.450000000000000000", "n > 123.45", 0),
        ("decimal(15,2)", "123.45", "n > 123.45", 0),  # a double keeps 15 digits
        ("decimal(20,0)", "12345678901234567000", "n > 12345678901234567000", 0),
        ("decimal(20,0)", "1234567890123456768", "n > 1234567890123456768", 1),  # deltalake's for …789
        ("decimal(20,0)", "1.2345678901234567e19", "n > 12345678901234567000", 1),
        ("decimal(38,2)", '"12345678901234567.89"', "n > 5", 0),
    ],
)
def test_only_decimals_that_can_have_lost_digits_are_doubted(tmp_path, kind, written, text, missed):
    assert skipping(decimals(tmp_path, written, kind), text) == Missed(bounds=missed)


# --- NaN ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize(
    ("text", "missed"),
    [
        ("n > {0}", 1),
        ("{0} <= n", 1),
        ("NOT (n < {0})", 1),
        ("n <> 1.5D", 0),
        ("n < {0}", 0),
        ("n = {0}", 0),
        ("n > 2D", 0),
        ("n IS NULL", 0),
    ],
)
def test_rows_with_nan_are_missed_where_bounds_leave_them_out(tmp_path, kind, text, missed):
    table = one(tmp_path, "n", 1.5, 2.5, kind=kind)
    assert skipping(table, text.format("9D")) == Missed(nan=missed)


def test_no_file_is_missed_for_nan_that_delta_reads_anyway(tmp_path):
    assert skipping(one(tmp_path / "a", "d", 1.5, "NaN"), "d > 9D") == Missed()  # as Spark writes it
    assert skipping(one(tmp_path / "b", "d", 1.5, 2.5, None), "d > 9D") == Missed()  # without counts it skips nothing
    assert skipping(one(tmp_path / "c", "n", 1, 2), "n > 9D") == Missed()


# --- what the preview says of it ---------------------------------------------------------------------------------------


def test_the_notes_say_how_many_files_are_missed_and_why(tmp_path):
    texts = [stats(1, {"at": at}, {"at": at}, {"at": 0}) for at in (CUT, CUT, "2020-01-01T00:00:00.000Z")]
    table = write(tmp_path, [add(at, text) for at, text in enumerate(texts)], columns=[column("at", "timestamp")])
    found = prediction(table, "at = TIMESTAMP '1850-01-01 00:07:33'")
    assert (found.files_matched, found.skipping) == (2, Missed(bounds=2))
    assert "may miss rows of 2 files" in " ".join(found.notes)
    assert found.as_json()["skipping"] == {"bounds": 2, "nan": 0}
    nan = prediction(one(tmp_path / "nan", "d", 1.5, 2.5), "d > 9D")
    assert "NaN in 1 file:" in " ".join(nan.notes)


def test_a_sound_table_has_no_such_note(tmp_path):
    found = prediction(one(tmp_path, "n", 1, 5), "n = 3")
    assert found.skipping == Missed()
    assert "skipping" not in " ".join(found.notes)


def test_partitions_beside_doubtful_bounds_are_judged_once_and_stay_certain(tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "MOST_STEPS_IN_ALL", 8)  # two values of four nodes
    columns = [column("at", "timestamp"), column("p", "string")]
    adds = [add(at, stats(1, {"at": CUT}, {"at": CUT}, {"at": 0}), {"p": p}) for at, p in enumerate("xy")]
    table = write(tmp_path, adds, columns=columns, partitions=["p"])
    assert skipping(table, "upper(p) = 'X' OR at < TIMESTAMP '1850-01-01 00:08:00'") == Missed(bounds=1)
    assert skipping(table, "upper(p) = 'X' AND at < TIMESTAMP '1850-01-01 00:08:00'") == Missed(bounds=1)
    assert skipping(table, "upper(p) = 'X' AND at < TIMESTAMP '1850-01-01 00:07:00'") == Missed()
