"""Streams: the list, one of them, starting and stopping it."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, ListGroup, keyed, limit_of, limited, pass_session, waiting
from console.cli.following import has_ended
from console.cli.lookup import stream_id
from console.cli.reviews import summary
from console.cli.session import ListColumn, Session, facts
from console.cli.waits import wait_for
from console.cli.words import moment, shown

_LIST = [
    ListColumn("Stream", lambda row: row["name"]),
    ListColumn("State", lambda row: row["state"].replace("_", " "), is_whole=True),
    ListColumn("Table", lambda row: row["table"]["name"]),
    ListColumn("Waiting", lambda row: _lag(row), is_number=True),
    ListColumn("Last batch (UTC)", lambda row: moment((row["last_batch"] or {}).get("at")), is_whole=True),
    ListColumn("Next round (UTC)", lambda row: moment(row["next_round_at"]), is_whole=True),
    ListColumn("What it says", lambda row: row["state_text"]),
]


def _lag(row: dict[str, Any]) -> str:
    lag = row["lag"]
    if lag is None:
        return shown(None)
    return f"{'' if lag['exact'] else 'at least '}{lag['waiting']:,} {lag['unit']}s"


@click.group(cls=ListGroup)
def streams() -> None:
    """List streams, or show, start, stop or run one. Without a command: the list. STREAM is a name or an id."""


@streams.command("list", cls=Act)
@limited
@pass_session
def list_streams(session: Session, limit: int) -> None:
    """List the streams that you may see, by name.

    \b
    Example:
      levee streams
    """
    session.show_list(session.api.pages("/streams", {}, limit_of(limit)), _LIST)


@streams.command("show", cls=Act)
@click.argument("stream")
@pass_session
def show(session: Session, stream: str) -> None:
    """Show STREAM.

    \b
    Example:
      levee streams show clicks --json
    """
    found = session.api.get(f"/streams/{stream_id(session.api, stream)}")
    session.show(found, lambda: facts(_pairs(found)))


def _pairs(found: dict[str, Any]) -> list[tuple[str, str]]:
    source = found["source"] or {}
    pairs = [
        ("Stream", found["name"]), ("Id", found["id"]), ("State", found["state_text"]),
        ("Since", f"{moment(found['state_since'])} UTC"), ("Source", shown(source.get("path") or source.get("table"))),
        ("Table", f"{found['table']['name']} ({found['table']['path']})"), ("Output", shown(found["output_mode"])),
        ("Checkpoint", found["checkpoint"]), ("Rounds", shown(found["rounds"])), ("Waiting", _lag(found)),
        ("Reason", shown(found["reason"])), ("Created", f"by {found['created_by']}, {moment(found['created_at'])} UTC"),
    ]  # fmt: skip
    if error := found["error"]:
        pairs += [("Error", f"{error['message']} [{error['code']}]"), ("What you can do", error["what_to_do"])]
    return pairs


def _round(session: Session, stream: str, act: str, key: str, **how: Any) -> int:
    """Opens a round and shows its job; with `wait`, once it has ended."""
    job = session.api.post(f"/streams/{stream_id(session.api, stream)}/{act}", key=key)
    if how.get("wait"):
        return wait_for(session, job, has_ended, how["timeout"], how["id_alone"])
    session.show_job(job, lambda: facts(summary(job)), how.get("id_alone", False))
    return 0


@streams.command("start", cls=Act)
@click.argument("stream")
@keyed
@pass_session
def start(session: Session, stream: str, key: str) -> int:
    """Start STREAM; prints the job of its first round.

    \b
    Example:
      levee streams start clicks
    """
    return _round(session, stream, "start", key)


@streams.command("stop", cls=Act)
@click.argument("stream")
@pass_session
def stop(session: Session, stream: str) -> None:
    """Stop STREAM after the round that runs; at once if none does.

    \b
    Example:
      levee streams stop clicks
    """
    stopped = session.api.post(f"/streams/{stream_id(session.api, stream)}/stop")
    session.show(stopped, lambda: facts(_pairs(stopped)))


@streams.command("run-once", cls=Act)
@click.argument("stream")
@keyed
@waiting
@pass_session
def run_once(session: Session, stream: str, key: str, **how: Any) -> int:
    """Run one round of STREAM. With --wait, the exit code says how it ended; a round without new data succeeds.

    \b
    Example:
      levee streams run-once clicks --wait --timeout 1h
    """
    return _round(session, stream, "run-once", key, **how)
