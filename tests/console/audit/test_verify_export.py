"""An export is verified without Levee: by one file, as a program of its own."""

import json
import random
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.audit import export, verify_export
from console.audit.actions import Action, ActorKind, EventOutcome, ObjectKind
from console.audit.integrity import canonical, chain, heads
from console.audit.models import Event
from console.audit.queries import EventFilter
from tests.console.audit.making import event, last_link, sealed, signed
from tests.factories import person_with

EVENTS = 30


@pytest.fixture
def exported(db, tmp_path):
    """An export of 30 events with their head, as an auditor of everything gets it."""
    auditor = person_with("auditor")
    sealed(EVENTS)
    signed()
    file = tmp_path / "export.jsonl"
    file.write_text("".join(export.export(auditor, EventFilter(), "jsonl")))
    return file


def found(file: Path, part: bool = False) -> set[str]:
    return {each.kind for each in verify_export.verify(str(file), heads.public_key(), None, part=part)[1]}


def run(*arguments: object) -> subprocess.CompletedProcess:
    """The file as somebody has it who copied it: isolated from Levee and from every package."""
    program = [sys.executable, "-I", "-S", verify_export.__file__, *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, cwd="/")


def test_an_untouched_export_is_whole(exported):
    done = run(exported, "--public-key", heads.public_key())
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing differs" in done.stdout
    assert found(exported) == set()


def test_without_a_key_it_says_which_one_signed(exported):
    done = run(exported)
    assert done.returncode == 0
    assert heads.public_key() in done.stdout


def test_a_file_that_is_not_there_ends_with_two(tmp_path):
    done = run(tmp_path / "none.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.jsonl" in done.stderr


def edited(lines, at, other):
    row = json.loads(lines[at])
    row["reason"] += "x"
    lines[at] = json.dumps(row)


def edited_with_its_hash(lines, at, other):
    row = json.loads(lines[at])
    row["outcome"] = "refused"
    row["hash"] = verify_export.hash_of(verify_export.read_line(json.dumps(row)))
    lines[at] = json.dumps(row)


def deleted(lines, at, other):
    del lines[at]


def swapped_lines(lines, at, other):
    lines[at], lines[other] = lines[other], lines[at]


def swapped_contents(lines, at, other):
    one, two = json.loads(lines[at]), json.loads(lines[other])
    one["object"], two["object"] = two["object"], one["object"]
    lines[at], lines[other] = json.dumps(one), json.dumps(two)


def swapped_links(lines, at, other):
    one, two = json.loads(lines[at]), json.loads(lines[other])
    for name in ("sequence", "previous", "link"):
        one[name], two[name] = two[name], one[name]
    lines[at], lines[other] = json.dumps(one), json.dumps(two)


def doubled(lines, at, other):
    lines.insert(at, lines[at])


def cut(lines, at, other):
    del lines[at:-1]


def cut_with_the_head(lines, at, other):
    del lines[at:]


def begun_later(lines, at, other):
    del lines[: at + 1]


def torn(lines, at, other):
    lines[at] = lines[at][:40]


def written_anew(lines, at, other):
    """An event changed and all links from there on made anew: only the signed head tells."""
    edited_with_its_hash(lines, at, other)
    previous = json.loads(lines[at])["previous"]
    for number in range(at, len(lines) - 1):
        row = json.loads(lines[number])
        row["previous"] = previous
        row["link"] = previous = verify_export.link_hash(row["sequence"], previous, row["id"], row["hash"])
        lines[number] = json.dumps(row)


TAMPERINGS = [edited, edited_with_its_hash, deleted, swapped_lines, swapped_contents, swapped_links, doubled, cut,
              cut_with_the_head, begun_later, torn, written_anew]  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_every_tampering_is_found(exported, tampering):
    whole, chance = exported.read_text().splitlines(), random.Random(5)
    for _ in range(10):
        lines = list(whole)
        at, other = chance.sample(range(EVENTS), 2)
        tampering(lines, at, other)
        exported.write_text("\n".join(lines) + "\n")
        assert found(exported), (tampering.__name__, at, other)


def test_a_head_by_another_key_is_forged(exported):
    *lines, last = exported.read_text().splitlines()
    head, key = json.loads(last)["head"], Ed25519PrivateKey.generate()
    text = f"levee audit head\n{head['sequence']}\n{head['hash']}\n{head['signed_at']}"
    head |= {"key": key.public_key().public_bytes_raw().hex(), "signature": key.sign(text.encode()).hex()}
    exported.write_text("\n".join([*lines, json.dumps({"head": head})]))
    assert found(exported) == {"head_forged", "head_missing"}


def test_a_tail_cut_back_to_an_older_head_is_found_with_the_file_of_heads(exported, heads_file):
    older = json.loads(exported.read_text().splitlines()[-1])["head"]
    event(EVENTS)
    chain.seal_waiting()
    heads.sign(older["sequence"] + 1, last_link().hash)
    assert run(exported).returncode == 0
    done = run(exported, "--heads", heads_file)
    assert done.returncode == 1
    assert "tail_cut" in done.stdout


def test_a_part_may_have_gaps_and_is_still_verified(exported):
    lines = exported.read_text().splitlines()
    exported.write_text("\n".join(lines[3:9] + lines[15:20]))
    assert found(exported, part=True) == set()
    edited(lines, 16, 0)
    exported.write_text("\n".join(lines[3:9] + lines[15:20]))
    assert found(exported, part=True) == {"event_changed"}


def test_signatures_are_judged_as_the_library_does():
    chance = random.Random(3)
    for _ in range(20):
        key = Ed25519PrivateKey.from_private_bytes(chance.randbytes(32))
        public, text = key.public_key().public_bytes_raw(), chance.randbytes(40)
        signature = key.sign(text)
        assert verify_export.signed_by(public, text, signature)
        spoilt = bytearray(signature)
        spoilt[chance.randrange(64)] ^= 1 << chance.randrange(8)
        assert not verify_export.signed_by(public, text, bytes(spoilt))
        assert not verify_export.signed_by(public, text + b"x", signature)
        assert not verify_export.signed_by(chance.randbytes(32), text, signature)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
NUMBER = (
    st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False) | st.decimals(
        allow_nan=False, allow_infinity=False, places=3).map(float)
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=12,
)
EVENT = st.builds(
    Event,
    id=st.uuids(),
    actor_kind=st.just(ActorKind.TOKEN),
    actor_id=st.uuids(),
    token_id=st.uuids(),
    actor_name=TEXT,
    session=TEXT,
    address=TEXT,
    request_id=TEXT,
    action=st.sampled_from(Action),
    object_kind=st.sampled_from(ObjectKind),
    object_id=TEXT,
    object_name=TEXT,
    outcome=st.sampled_from(EventOutcome),
    reason=TEXT,
    before=JSON,
    after=JSON,
    job=st.none() | st.uuids(),
    digest=st.none() | TEXT,
    table_version=st.none() | st.integers(-(2**63), 2**63 - 1),
    table_id=st.none() | st.uuids(),
)


@pytest.mark.django_db
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(made=EVENT)
def test_the_database_python_and_the_export_hash_the_same_for_whatever_an_event_holds(made, auditor):
    made.id = uuid.uuid4()
    made.save(force_insert=True)
    chain.seal_waiting()
    (link,) = canonical.links(Event.objects.get(pk=made.pk).seal.sequence - 1, 10)
    (line,) = [
        line for line in "".join(export.export(auditor, EventFilter(), "jsonl")).split("\n") if str(made.pk) in line
    ]
    assert link.event == str(made.pk)
    assert link.event_hash == link.computed
    assert link.event_hash == verify_export.hash_of(verify_export.read_line(line))


@pytest.fixture
def auditor(db):
    return person_with("auditor")
