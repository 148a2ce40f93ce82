"""Compares the schema that Spark wrote into a file's footer with the columns of the file itself.

Spark and Delta believe that text alone (ParquetFileFormat.readSchemaFromFooter of Spark 4.2). pandas, pyarrow and others copy it into
files with other columns. Both are Spark's JSON structs here; nullability, order, case and metadata make no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from console.base.text.counted import counted
from jobs.commands.convert.rules import FOOTER_SCHEMA, readable, type_text
from jobs.domain.consequences import listed
from jobs.domain.errors import Refusal
from jobs.domain.results import FooterDifference

NAMED_KINDS = 5
# Types that a file holds as another one: Spark's own text is then the better description.
_STORED_AS: Mapping[str, frozenset[str]] = {
    "interval": frozenset({"integer", "long"}),
    "variant": frozenset({"struct"}),
    "geometry": frozenset({"binary"}),
    "geography": frozenset({"binary"}),
    "time": frozenset({"long"}),
}


def difference(
    text: Mapping[str, Any], file: Mapping[str, Any], partitions: Collection[str], example: str, files: int
) -> FooterDifference | None:
    """What differs between the struct of the text and the struct of the file; None where nothing does.

    `partitions` are the columns of directories, which count instead of a file's own.
    """
    found = [(path, ours, theirs) for path, ours, theirs in _compared(text, file, "") if path.lower() not in partitions]
    only_file = tuple(path for path, ours, _ in found if ours is None)
    only_text = tuple(path for path, _, theirs in found if theirs is None)
    types = tuple((path, ours, theirs) for path, ours, theirs in found if ours is not None and theirs is not None)
    return FooterDifference(example, files, only_file, only_text, types) if found else None


def footer_refusals(differences: Collection[FooterDifference]) -> list[Refusal]:
    """A refusal for each of the first kinds of files whose text differs: a person may decide to believe it."""
    remedy = (
        "Write the files again without the footer's entry org.apache.spark.sql.parquet.row.metadata, or with Spark;"
        " or accept what Spark reads."
    )
    refusals = [
        Refusal(
            FOOTER_SCHEMA,
            f"{_where(each)} describes other columns than the file has: {_what(each)}",
            each.example,
            remedy,
        )
        for each in list(differences)[:NAMED_KINDS]
    ]
    if (more := len(differences) - NAMED_KINDS) > 0:
        refusals.append(
            Refusal(
                FOOTER_SCHEMA,
                f"{counted(more, 'other kind of files has', 'other kinds of files have')} such descriptions too",
                remedy=remedy,
            )
        )
    return refusals


def _where(each: FooterDifference) -> str:
    others = f" (and of {counted(each.files - 1, 'other file')})" if each.files > 1 else ""
    return f"the Spark schema in the footer of {each.example}{others}"


def _what(each: FooterDifference) -> str:
    parts = []
    if each.only_in_file:
        parts.append(f"it leaves out {listed(each.only_in_file)}, which the table would not have")
    if each.only_in_text:
        parts.append(f"it names {listed(each.only_in_text)}, which the file lacks and the table would have as NULL")
    if each.types:
        texts = [f"{path} {ours} where the file holds {theirs}" for path, ours, theirs in each.types]
        parts.append(f"it calls {listed(texts)}")
    return "; ".join(parts)


Compared = Iterator[tuple[str, str | None, str | None]]


def _compared(text: Mapping[str, Any], file: Mapping[str, Any], prefix: str) -> Compared:
    """(path, type in the text, type in the file) of all that differs in two structs; None where one lacks it."""
    ours = {field["name"].lower(): field for field in text["fields"]}
    theirs = {field["name"].lower(): field for field in file["fields"]}
    for name in dict.fromkeys((*ours, *theirs)):
        path = prefix + (ours.get(name) or theirs[name])["name"]
        if name not in theirs:
            yield path, type_text(ours[name]["type"]), None
        elif name not in ours:
            yield path, None, type_text(theirs[name]["type"])
        else:
            yield from _types(ours[name]["type"], theirs[name]["type"], path)


def _types(text: Any, file: Any, path: str) -> Compared:
    text = _plain(text)
    if isinstance(text, Mapping) and isinstance(file, Mapping) and text["type"] == file["type"]:
        if text["type"] == "struct":
            yield from _compared(text, file, f"{path}.")
        for part in ("elementType", "keyType", "valueType"):
            if part in text:
                yield from _types(text[part], file[part], f"{path}.{part.removesuffix('Type')}")
    elif not _alike(text, file):
        yield path, type_text(text), type_text(file)


def _plain(kind: Any) -> Any:
    """A user-defined type as what it is stored as."""
    return kind["sqlType"] if isinstance(kind, Mapping) and kind["type"] == "udt" else kind


def _alike(text: Any, file: Any) -> bool:
    """Whether Spark reads the file's type as the text's without loss."""
    if text == file or text in ("void", "null"):
        return True
    if not isinstance(text, str):
        return False
    stored = file if isinstance(file, str) else str(file["type"])
    if _family(text) == _family(stored) or stored in _STORED_AS.get(_family(text), ()):
        return True
    return isinstance(file, str) and readable(file, text)


def _family(kind: str) -> str:
    """Types that are stored alike by one name: strings of any length, timestamps of both kinds, intervals."""
    word = kind.split("(")[0].split(" ")[0]
    if word in ("char", "varchar", "binary"):
        return "string"
    if word.startswith("timestamp"):
        return "timestamp"
    return kind if word == "decimal" else word
