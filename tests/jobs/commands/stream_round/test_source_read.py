"""What Spark finds in the beginnings of the files that a stream may read: columns, types, and a few rows."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.commands.stream_round.spark import source_read
from jobs.domain.errors import CommandRefused

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    place = tmp_path / "land[1]ing"
    place.mkdir()
    return place


@pytest.fixture
def read(engine: Any, marks: Any, report: Any, landing: Path) -> Any:
    """The answer of a read of these files."""

    def ask(form: str, *files: str, path: Path = landing, **options: str) -> dict[str, Any]:
        question = {"path": str(path), "format": form, "options": options, "files": list(files)}
        answer: dict[str, Any] = engine.read("stream_source", question, marks, report)
        return answer

    return ask


def put(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def types(answer: dict[str, Any]) -> dict[str, Any]:
    return {field["name"]: field["type"] for field in answer["schema"]["fields"]}


def test_json_lines_tell_their_columns_and_five_rows(read, landing):
    rows = [{"id": number, "at": "2026-11-01T00:00:00Z", "tags": ["a"]} for number in range(9)]
    put(landing / "a.json", "\n".join(map(json.dumps, rows)) + "\n")
    answer = read("json", "a.json")
    assert types(answer) == {
        "at": "string", "id": "long", "tags": {"type": "array", "elementType": "string", "containsNull": True},
    }  # fmt: skip
    assert [column["name"] for column in answer["columns"]] == ["at", "id", "tags"]
    assert [row[1] for row in answer["rows"]] == [0, 1, 2, 3, 4]
    assert (answer["truncated"], answer["lines"], answer["damaged"]) == (True, 9, 0)


def test_columns_of_all_the_files_are_found_and_damaged_lines_counted(read, landing):
    put(landing / "new", '{"id": 1, "extra": 1.5}\nno json\n')
    put(landing / "old", '{"id": 2}\n')
    answer = read("json", "new", "old")
    assert types(answer) == {"extra": "double", "id": "long"}
    assert (answer["lines"], answer["damaged"]) == (3, 1)


def test_lines_end_where_spark_ends_them_and_the_mark_of_utf_8_is_no_part_of_the_first(read, landing):
    marked = ["a\u2028b", "c\u0085d", "e\x0cf"]
    lines = [json.dumps({"id": number, "p": text}, ensure_ascii=False) for number, text in enumerate(marked)]
    (landing / "a.json").write_bytes(("\ufeff" + "\r\n".join(lines[:2]) + "\r" + lines[2] + "\n").encode())
    answer = read("json", "a.json")
    assert (types(answer), answer["lines"], answer["damaged"]) == ({"id": "long", "p": "string"}, 3, 0)
    assert answer["rows"] == [[number, text] for number, text in enumerate(marked)]
    (landing / "a.csv").write_bytes("\ufeffid,p\n0,a\u2028b\r\n1,c\u0085d\r2,e\x0cf\n".encode())
    answer = read("csv", "a.csv", header="true")
    assert (types(answer), answer["lines"], answer["damaged"]) == ({"id": "integer", "p": "string"}, 4, 0)
    assert answer["rows"] == [[number, text] for number, text in enumerate(marked)]
    (landing / "a.txt").write_bytes("\ufefffirst\u2028line\rsecond\n".encode())
    assert read("text", "a.txt")["rows"] == [["first\u2028line"], ["second"]]


def test_csv_is_read_by_its_options(read, landing):
    put(landing / "1.csv", "id;day;name\n1;2026-11-01;a\n2;2026-11-02;\n")
    put(landing / "2.csv", "id;day;name\n3;2026-11-03;c\n")
    answer = read("csv", "1.csv", "2.csv", header="true", sep=";")
    assert types(answer) == {"id": "integer", "day": "date", "name": "string"}
    assert sorted(answer["rows"]) == [[1, "2026-11-01", "a"], [2, "2026-11-02", None], [3, "2026-11-03", "c"]]
    plain = read("csv", "1.csv")
    assert list(types(plain)) == ["_c0"]


def test_directories_give_columns(read, landing):
    put(landing / "day=2026-11-01" / "n=7" / "a.json", '{"id": 1}\n')
    answer = read("json", "day=2026-11-01/n=7/a.json")
    assert types(answer) == {"id": "long", "day": "date", "n": "integer"}
    assert answer["rows"] == [[1, "2026-11-01", 7]]
    flat = read(
        "json", "day=2026-11-01/n=7/a.json", recursiveFileLookup="true", maxFilesPerTrigger="3", mode="FAILFAST"
    )
    assert types(flat) == {"id": "long"}


def test_parquet_tells_by_its_footers(read, landing):
    pq.write_table(pa.table({"id": [1, 2], "p": ["a", None]}), landing / "a.parquet")
    pq.write_table(pa.table({"id": [3], "more": [True]}), landing / "b.parquet")
    answer = read("parquet", "a.parquet", "b.parquet")
    assert types(answer) == {"id": "long", "p": "string", "more": "boolean"}
    assert (answer["lines"], answer["damaged"]) == (None, None)
    assert len(answer["rows"]) == 3


def test_text_is_one_column(read, landing):
    put(landing / "a.log", "first\nsecond\n")
    answer = read("text", "a.log")
    assert (types(answer), answer["rows"]) == ({"value": "string"}, [["first"], ["second"]])


def test_values_over_many_lines_are_read_whole(read, landing, monkeypatch, tmp_path):
    put(landing / "a.json", '[{"id": 1},\n {"id": 2}]')
    with pytest.raises(CommandRefused, match="for a pattern"):
        read("json", "a.json", multiLine="true")
    plain = landing.rename(tmp_path / "landing")
    assert types(read("json", "a.json", path=plain, multiLine="true")) == {"id": "long"}
    monkeypatch.setattr(source_read, "LARGEST_WHOLE", 5)
    with pytest.raises(CommandRefused, match="with multiLine Spark reads each file whole"):
        read("json", "a.json", path=plain, multiLine="true")


def test_a_text_that_is_read_whole_has_a_limit(read, landing, monkeypatch):
    put(landing / "a.txt", "first\nsecond\n")
    assert read("text", "a.txt", wholetext="true")["rows"] == [["first\nsecond\n"]]
    monkeypatch.setattr(source_read, "LARGEST_WHOLE", 5)
    with pytest.raises(CommandRefused, match="with wholetext Spark reads each file whole"):
        read("text", "a.txt", wholetext="true")
    assert read("text", "a.txt")["rows"] == [["first"], ["second"]]


def test_only_the_beginning_of_a_file_is_read(read, landing, monkeypatch):
    monkeypatch.setattr(source_read, "HEAD_BYTES", 40)
    put(landing / "a.json", '{"id": 1}\n{"id": 2}\n' + '{"late": 1}\n' * 100)
    answer = read("json", "a.json")
    assert (list(types(answer)), answer["lines"]) == (["id", "late"], 3)
    put(landing / "long.json", '{"id": "' + "x" * 100 + '"}\n')
    with pytest.raises(CommandRefused, match=r"first line of long.json is longer"):
        read("json", "long.json")


def test_gzip_is_unpacked_and_other_packings_say_so(read, landing):
    (landing / "a.json.gz").write_bytes(gzip.compress(b'{"id": 1}\n{"id": 2}\n'))
    answer = read("json", "a.json.gz")
    assert (types(answer), answer["rows"]) == ({"id": "long"}, [[1], [2]])
    (landing / "two.json.gz").write_bytes(gzip.compress(b'{"id": 1}\n') + gzip.compress(b'{"p": "a"}\n'))
    answer = read("json", "two.json.gz")
    assert (types(answer), answer["lines"], len(answer["rows"])) == ({"id": "long", "p": "string"}, 2, 2)
    put(landing / "b.json.gz", "not packed")
    with pytest.raises(CommandRefused, match="isn’t the gzip file"):
        read("json", "b.json.gz")
    put(landing / "c.json.bz2", "?")
    with pytest.raises(CommandRefused, match="compressed in a way"):
        read("json", "c.json.bz2")


def test_each_part_of_a_packed_file_counts_to_its_length(read, landing, monkeypatch):
    monkeypatch.setattr(source_read, "LARGEST_WHOLE", 200)
    parts = [gzip.compress(b"first\n"), gzip.compress(b"x" * 1_000)]
    assert len(b"".join(parts)) < 200
    (landing / "a.txt.gz").write_bytes(b"".join(parts))
    with pytest.raises(CommandRefused, match="is larger than"):
        read("text", "a.txt.gz", wholetext="true")
    (landing / "cut.txt.gz").write_bytes(parts[0] + parts[1][:-12])
    with pytest.raises(CommandRefused, match="is larger than"):
        read("text", "cut.txt.gz", wholetext="true")


def test_what_leads_out_of_the_directory_is_refused(read, landing, tmp_path):
    put(tmp_path / "elsewhere", '{"secret": 1}\n')
    (landing / "a.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CommandRefused) as caught:
        read("json", "a.json")
    assert caught.value.refusals[0].code == "outside_roots"


def test_files_without_columns_say_so(read, landing):
    put(landing / "a.json", "{}\n")
    with pytest.raises(CommandRefused, match="hold no columns"):
        read("json", "a.json")


def test_files_of_another_format_say_so_instead_of_giving_the_columns_of_their_directories(read, landing):
    put(landing / "day=2026-11-01" / "a.json", "no json\n")
    with pytest.raises(CommandRefused, match=r"^The first line can’t be read as json: is it the files’ format\?"):
        read("json", "day=2026-11-01/a.json")
    table = pa.table({"id": list(range(500)), "p": [f"{number}\n" for number in range(500)]})
    pq.write_table(table, landing / "day=2026-11-01" / "a.parquet")
    with pytest.raises(CommandRefused, match=r"^None of the first [\d,]+ lines can be read as json") as caught:
        read("json", "day=2026-11-01/a.parquet")
    assert caught.value.refusals[0].code == "no_columns"
