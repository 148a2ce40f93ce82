"""A table's state without its files: protocol, metadata, transactions, domains. Replayed oldest first, newest wins."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from sys import getsizeof
from typing import Any, TypeVar

from tables.deltalog.read.actions import Action, DomainMetadata, Metadata, Protocol, SetTransaction

MOST = 100_000
"""Transactions (and domains) that are remembered; a log with more is not an honest one, and memory has a bar."""

MOST_BYTES = 16 << 20
"""Bytes of their names and texts that are remembered, as Python holds them."""

_Kept = TypeVar("_Kept", SetTransaction, DomainMetadata)


@dataclass(slots=True)
class TableState:
    """What holds at a version beside its files. `cut` says that transactions or domains were too many or too long to be kept."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    cut: bool = False
    _held: int = field(default=0, compare=False)

    def take(self, action: Action) -> None:
        """Applies one action; those about files are left to others."""
        if isinstance(action, Metadata):
            self.metadata = action
        elif isinstance(action, Protocol):
            self.protocol = action
        elif isinstance(action, SetTransaction):
            self._keep(self.transactions, action.app_id, action)
        elif isinstance(action, DomainMetadata):
            if action.removed:
                self._held -= _bytes_of(self.domains.pop(action.domain, None))
            else:
                self._keep(self.domains, action.domain, action)

    def _keep(self, kept: dict[str, _Kept], key: str, value: _Kept) -> None:
        held = self._held - _bytes_of(kept.get(key)) + _bytes_of(value)
        if held > MOST_BYTES or (key not in kept and len(kept) >= MOST):
            self.cut = True
        else:
            kept[key], self._held = value, held

    @property
    def whole(self) -> bool:
        """Whether it has protocol, metadata and schema: without them nothing tells how to read its files, or what comes after it."""
        return self.protocol is not None and self.metadata is not None and bool(self.metadata.schema_json)

    def copy(self) -> TableState:
        return replace(self, transactions=dict(self.transactions), domains=dict(self.domains))

    def dump(self) -> dict[str, Any]:
        """As JSON values, for the file that keeps a snapshot."""
        return {
            "protocol": _members(self.protocol) if self.protocol else None,
            "metadata": _members(self.metadata) if self.metadata else None,
            "transactions": [_members(item) for item in self.transactions.values()],
            "domains": [_members(item) for item in self.domains.values()],
            "cut": self.cut,
        }

    @classmethod
    def load(cls, value: dict[str, Any]) -> TableState:
        transactions = [SetTransaction(**_times(item, "last_updated")) for item in value["transactions"]]
        domains = [DomainMetadata(**item) for item in value["domains"]]
        return cls(
            _protocol(value["protocol"]) if value["protocol"] else None,
            _metadata(value["metadata"]) if value["metadata"] else None,
            {item.app_id: item for item in transactions},
            {item.domain: item for item in domains},
            value["cut"],
            sum(map(_bytes_of, transactions)) + sum(map(_bytes_of, domains)),
        )


def _bytes_of(item: SetTransaction | DomainMetadata | None) -> int:
    if item is None:
        return 0
    texts = (item.app_id,) if isinstance(item, SetTransaction) else (item.domain, item.configuration)
    return sum(getsizeof(text) for text in texts)


def _protocol(value: dict[str, Any]) -> Protocol:
    lists = {name: _tuple(value[name]) for name in ("reader_features", "writer_features")}
    return Protocol(**{**value, **lists})


def _tuple(value: list[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


def _metadata(value: dict[str, Any]) -> Metadata:
    return Metadata(**{**_times(value, "created_at"), "partition_columns": tuple(value["partition_columns"])})


def _members(item: Metadata | Protocol | SetTransaction | DomainMetadata) -> dict[str, Any]:
    """As JSON has them; none of them is copied."""
    values = ((member.name, getattr(item, member.name)) for member in fields(item))
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values}


def _times(value: dict[str, Any], name: str) -> dict[str, Any]:
    text = value[name]
    return {**value, name: None if text is None else datetime.fromisoformat(text)}
