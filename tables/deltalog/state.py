"""A table's state without its files: protocol, metadata, transactions, domains. Replayed oldest first, newest wins."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from tables.deltalog.actions import Action, DomainMetadata, Metadata, Protocol, SetTransaction

MOST = 100_000
"""Transactions (and domains) that are remembered; a log with more is not an honest one, and memory has a bar."""

_Kept = TypeVar("_Kept")


@dataclass(slots=True)
class TableState:
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)

    def take(self, action: Action) -> None:
        """Applies one action; those about files are left to others."""
        if isinstance(action, Metadata):
            self.metadata = action
        elif isinstance(action, Protocol):
            self.protocol = action
        elif isinstance(action, SetTransaction):
            _keep(self.transactions, action.app_id, action)
        elif isinstance(action, DomainMetadata):
            if action.removed:
                self.domains.pop(action.domain, None)
            else:
                _keep(self.domains, action.domain, action)

    def copy(self) -> TableState:
        return TableState(self.protocol, self.metadata, dict(self.transactions), dict(self.domains))

    def dump(self) -> dict[str, Any]:
        """As JSON values, for the file that keeps a snapshot."""
        return {
            "protocol": asdict(self.protocol) if self.protocol else None,
            "metadata": _with_times(asdict(self.metadata)) if self.metadata else None,
            "transactions": [_with_times(asdict(item)) for item in self.transactions.values()],
            "domains": [asdict(item) for item in self.domains.values()],
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
        )


def _keep(kept: dict[str, _Kept], key: str, value: _Kept) -> None:
    if key in kept or len(kept) < MOST:
        kept[key] = value


def _protocol(value: dict[str, Any]) -> Protocol:
    lists = {name: _tuple(value[name]) for name in ("reader_features", "writer_features")}
    return Protocol(**{**value, **lists})


def _tuple(value: list[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


def _metadata(value: dict[str, Any]) -> Metadata:
    return Metadata(**{**_times(value, "created_at"), "partition_columns": tuple(value["partition_columns"])})


def _with_times(value: dict[str, Any]) -> dict[str, Any]:
    return {name: item.isoformat() if isinstance(item, datetime) else item for name, item in value.items()}


def _times(value: dict[str, Any], name: str) -> dict[str, Any]:
    text = value[name]
    return {**value, name: None if text is None else datetime.fromisoformat(text)}


def clustering_columns(state: TableState) -> tuple[str, ...]:
    """Columns of `delta.clustering` as dotted physical names, empty when the table is not clustered or the text is odd."""
    domain = state.domains.get("delta.clustering")
    if domain is None:
        return ()
    try:
        columns = json.loads(domain.configuration)["clusteringColumns"]
        return tuple(".".join(map(str, parts)) for parts in columns)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
