"""Adds without statistics that are read many at a time are the same files as those read line by line."""

import json
import random
from typing import Any

import pytest

from tables.deltalog.read import usual_adds as module
from tables.deltalog.read.actions import AddFile
from tables.deltalog.read.lines import read_blocks, read_lines
from tables.deltalog.read.parsing import commit_actions, typed_actions
from tables.deltalog.read.problems import Problems
from tables.deltalog.read.usual_adds import FEW, bare_adds
from tables.deltalog.state.livefiles import VALUES, file_key, file_keys
from tables.deltalog.state.tail import bare_batch, batch_of
from tables.storage.store import CHUNK
from tests.soak.damage import Damage
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import add, info, remove

MANY = FEW + 3


class Content:
    """A file that comes in pieces."""

    ahead = 1

    def __init__(self, content, step=CHUNK):
        self.content, self.step = content, step

    def chunks(self, path, size):
        for start in range(0, len(self.content), self.step):
            yield self.content[start : start + self.step]


def numbered(first, block):
    return [(number, line) for number, line in enumerate(block.split(b"\n"), first) if line.strip()]


def line(number=0, **more):
    value = add(f"part-{number}.parquet", rows=None, size=number, partition={"day": f"d{number % 3}"})["add"]
    return json.dumps({"add": value | more}, separators=(",", ":"), ensure_ascii=False).encode()


def lines(count=MANY, **more):
    return b"".join(line(number, **more) + b"\n" for number in range(count))


def one_by_one(content):
    problems = Problems()
    return list(typed_actions(Content(content), "", 0, "f", problems)), problems.found()


def together(content, step=CHUNK):
    """The same with those told apart that were read many at a time; and whether there were such."""
    problems, taken = Problems(), False
    actions: list[Any] = []
    for action in commit_actions(Content(content, step), "", 0, "f", problems):
        if isinstance(action, module.BareAdds):
            taken = True
            columns = zip(action.paths, action.values, action.sizes, action.modification_times, strict=True)
            actions += [(path, action.parsed[text], size, int(time)) for path, text, size, time in columns]
        else:
            actions.append(action)
    return actions, problems.found(), taken


def told(actions):
    return [
        (action.path, action.partition_values, action.size, action.modification_time)
        if isinstance(action, AddFile) and action.stats is None
        else action
        for action in actions
    ]


def agrees(content, step=CHUNK):
    """Whether lines were read many at a time. Fails where that gives other files, or another problem."""
    actions, problems, taken = together(content, step)
    expected, known = one_by_one(content)
    assert (told(actions), problems) == (told(expected), known)
    return taken


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"partitionValues": {}},
        {"partitionValues": {"day": None, "hour": "5"}},
        {"partitionValues": {"day": "ü 🎈"}},
        {"path": "day=1/a b/ü.parquet"},
        {"size": 0, "modificationTime": 10**17, "dataChange": False},
        {"stats": None},
    ],
)
def test_what_delta_writes_is_read_many_at_a_time(more):
    assert agrees(lines(**more))


@pytest.mark.parametrize(
    "more",
    [
        *(
            {"path": path}
            for path in ("a//b", "./a", "a/./b", "a/../b", "..", "/a", "s3:a", "%41", "a\\b", '"', "a/.b")
        ),
        {"partitionValues": {"day": 5}},
        {"partitionValues": {"day": "\x01"}},
        {"partitionValues": {"day": "}"}},
        {"size": -1},
        {"size": 2**63},
        {"size": None},
        {"stats": '{"numRecords":1}'},
        {"tags": {}},
        {"deletionVector": None},
    ],
)
def test_a_single_line_of_another_kind_leaves_all_to_the_usual_way(more):
    odd = line(7, **more)
    for at in (0, 5, MANY):
        rows = [line(number) for number in range(MANY)]
        rows.insert(at, odd)
        assert not agrees(b"\n".join([*rows, b""]))


def test_few_lines_are_read_one_by_one():
    assert not agrees(lines(FEW - 1))
    assert agrees(lines(FEW))


def test_lines_before_and_after_keep_their_order_and_numbers():
    before = b'{"commitInfo":{"operation":"WRITE"}}\n\nno JSON\n'
    after = b'neither\n{"remove":{"path":"a"}}\n'
    assert agrees(before + lines() + after)
    _, problems, _ = together(before + lines() + after)
    assert [problem.reason.split(":")[0] for problem in problems] == ["line 3", f"line {3 + MANY + 1}"]


@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_a_file_that_comes_in_pieces_is_the_same(step):
    agrees(lines() + lines(5, tags={}), step)


def test_a_damaged_line_is_never_read_otherwise():
    chance = random.Random(20_261_128)
    damage, taken = Damage(chance), 0
    for _ in range(1_500):
        content = bytearray(lines(FEW))
        if chance.random() < 0.3:
            content = bytearray(damage.text(content.decode()).encode())
        else:
            at = chance.randrange(len(content))
            content[at : at + chance.choice([0, 1, 1, 3])] = chance.choice(
                [b"", b'"', b"\\", b"}", b"0", b"\x00", b"\xff", b":", b".", b"/", b"\n", b"\r", b" "]
            )
        taken += agrees(bytes(content))
    assert 50 < taken < 1_450


def test_both_ways_lead_to_the_same_rows():
    content = lines(partitionValues={"day": "x", "hour": None}) + lines(MANY, partitionValues={})
    found = bare_adds(content[:-1])
    assert found is not None
    _, adds, _ = found
    expected, _ = one_by_one(content)
    assert bare_batch(adds).equals(batch_of(expected))
    assert bare_batch(adds).column(VALUES).to_pylist()[MANY:] == [[]] * MANY


def test_keys_are_those_of_single_files():
    names = ["a", "b" * 100, "c" * 600, "ü" * 200]
    assert list(file_keys(names)) == [file_key(name, None) for name in names]
    assert list(file_keys(["a", "b"])) == ["a", "b"]


def many(prefix, **more):
    return [add(f"{prefix}{number}", rows=None, **more) for number in range(MANY)]


def compact(writer, version, *actions):
    """A commit without blanks, as Delta writes it."""
    return writer.raw(version, b"".join(json.dumps(a, separators=(",", ":")).encode() + b"\n" for a in actions))


@pytest.fixture(params=[True, False], ids=["many at a time", "one by one"])
def either_way(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(module, "FEW", 1 << 30)


def test_the_state_is_the_same_either_way(either_way, writer, log, target):
    writer.create()
    compact(writer, 1, info(), *many("a", size=5), add("counted"), *many("b", size=7))
    compact(writer, 2, info(), *many("a", size=9), remove("b3"), remove("counted"))
    run = log.sync(target)
    commits = list(run.commits())
    assert [(c.num_added_files, c.added_bytes, c.rows_added, c.data_change) for c in commits[1:]] == [
        (2 * MANY + 1, 12 * MANY + 100, None, True),
        (MANY, 9 * MANY, None, True),
    ]
    assert [(c.num_removed_files, c.rows_removed) for c in commits[1:]] == [(0, 0), (2, None)]
    snapshot = run.snapshot()
    live = [f"a{n}" for n in range(MANY)] + [f"b{n}" for n in range(MANY) if n != 3]
    assert paths(snapshot) == sorted(live)
    assert (snapshot.size_bytes, snapshot.num_records) == (9 * MANY + 7 * (MANY - 1), None)


def test_over_an_older_state_they_take_the_place_of_its_files(either_way, writer, log, target):
    writer.create(*many("a", size=1))
    base = log.sync(target).snapshot()
    compact(writer, 1, info(), *many("a", size=2, dataChange=False))
    run = log.sync(target, base)
    (commit,) = run.commits()
    assert (commit.data_change, commit.removal) == (False, "none")
    assert (run.snapshot().num_files, run.snapshot().size_bytes) == (MANY, 2 * MANY)


def test_a_removal_of_one_before_the_base_has_no_known_rows(either_way, writer, log, target):
    compact(writer, 1, info(), *many("a"))
    writer.commit(2, info(), remove("a3"))
    writer.checkpoint(2, add("z"))
    writer.create()
    commits = list(log.sync(target).commits())
    assert commits[2].rows_removed is None


@pytest.mark.parametrize("step", [1, 3, 10, 1000])
@pytest.mark.parametrize("longest", [5, 1000])
def test_lines_are_those_of_the_file_however_it_is_cut(monkeypatch, step, longest):
    monkeypatch.setattr("tables.deltalog.read.lines.MAX_LINE", longest)
    content = b"one\n\n  \ntwo\nthree and more\nfour\n\nlast"
    problems = Problems()
    found = list(read_lines(Content(content, step), "", 0, "f", problems))
    expected = numbered(1, content)
    if longest == 5 and step < 10:
        expected = [(number, text) for number, text in expected if len(text) <= 5]
        assert [problem.reason.split(" is")[0] for problem in problems.found()] == ["line 5"]
    assert [row for row in found if len(row[1]) <= 5] == [row for row in expected if len(row[1]) <= 5]
    blocks = list(read_blocks(Content(content, step), "", 0, "f", Problems()))
    assert [row for number, block in blocks for row in numbered(number, block)] == found
