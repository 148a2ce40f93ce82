"""Files that are cut, encrypted, overwritten, or contradict themselves."""

from __future__ import annotations

import base64

import pyarrow as pa
from pyarrow.parquet import encryption

from tests.jobs.corpus import footers
from tests.jobs.corpus.footers import changed, chunks, closed, footer_of, made, plain
from tests.jobs.corpus.thrift import I64, Struct

COLUMNS = {"id": pa.array(range(50)), "name": pa.array([f"name {n}" for n in range(50)])}
WHOLE = plain(COLUMNS, use_dictionary=False)
CHECKED = plain(COLUMNS, use_dictionary=False, write_page_checksum=True, compression="none")
BODY, _ = footer_of(WHOLE)
FOOTER = WHOLE[len(BODY) : -8]


class _Keys(encryption.KmsClient):  # type: ignore[misc]
    """Wraps keys by nothing: what is tested is who reads the files without any."""

    def __init__(self, config: encryption.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)


def _encrypted(columns: list[str], **options: object) -> bytes:
    config = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": columns} if columns else {}, **options
    )
    factory = encryption.CryptoFactory(_Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    return plain(COLUMNS, encryption_properties=properties)


def _moved(to: int) -> footers.Change:
    def change(footer: Struct) -> None:
        for chunk in chunks(footer):
            chunk[footers.DATA_PAGE] = (I64, to)

    return change


def _sized(to: int) -> footers.Change:
    def change(footer: Struct) -> None:
        for chunk in chunks(footer):
            chunk[footers.PACKED] = (I64, to)

    return change


def _rootless(footer: Struct) -> None:
    del footers.elements(footer)[0]


def _overwritten(data: bytes, at: int, text: bytes) -> bytes:
    return data[:at] + text + data[at + len(text) :]


FILES = {
    "encrypted-footer": _encrypted(["name"]),
    "encrypted-column": _encrypted(["name"], plaintext_footer=True),
    "encrypted-uniform": _encrypted([], uniform_encryption=True),
    "encrypted-uniform-plain-footer": _encrypted([], uniform_encryption=True, plaintext_footer=True),
    "size-0": b"",
    "size-1": b"P",
    "magic-alone": b"PAR1",
    "magic-twice": b"PAR1PAR1",
    "magic-of-orc": b"ORC" + WHOLE[3:-4] + b"ORC\0",
    "magic-head-missing": b"XXXX" + WHOLE[4:],
    "magic-end-missing": WHOLE[:-4] + b"XXXX",
    "magic-small": WHOLE[:-4] + b"par1",
    "text": b"id,name\n1,a\n",
    "cut-end": WHOLE[:-1],
    "cut-half": WHOLE[: len(WHOLE) // 2],
    "cut-head": WHOLE[100:],
    "cut-middle": WHOLE[:200] + WHOLE[500:],
    "appended": WHOLE + b"\n",
    "footer-length-0": WHOLE[:-8] + bytes(4) + b"PAR1",
    "footer-length-beyond": WHOLE[:-8] + (1 << 30).to_bytes(4, "little") + b"PAR1",
    "footer-length-negative": WHOLE[:-8] + b"\xff\xff\xff\xff" + b"PAR1",
    "footer-length-big-endian": WHOLE[:-8] + len(FOOTER).to_bytes(4, "big") + b"PAR1",
    "footer-length-short": closed(BODY, FOOTER[20:]),
    "footer-zeros": closed(BODY, bytes(len(FOOTER))),
    "footer-noise": closed(BODY, bytes(range(256)) * 2),
    "footer-alone": closed(b"PAR1", FOOTER),
    "page-checksum-wrong": _overwritten(CHECKED, len(CHECKED) // 4, b"\x55" * 8),
    "pages-overwritten": _overwritten(WHOLE, 8, b"\xff" * 64),
    "pages-zeros": _overwritten(WHOLE, 4, bytes(len(BODY) - 4)),
    "page-offset-beyond": made(COLUMNS, _moved(1 << 40)),
    "page-offset-negative": made(COLUMNS, _moved(-5)),
    "page-offset-0": made(COLUMNS, _moved(0)),
    "page-size-beyond": made(COLUMNS, _sized(1 << 40)),
    "page-size-negative": made(COLUMNS, _sized(-5)),
    "schema-without-root": changed(WHOLE, _rootless),
    "schema-empty": changed(WHOLE, lambda footer: footers.elements(footer).clear()),
    "schema-children-beyond": changed(WHOLE, lambda footer: footers.set_element(footer, 0, CHILDREN=1000)),
    "schema-type-unknown": changed(WHOLE, lambda footer: footers.set_element(footer, 1, TYPE=99)),
    "schema-type-other": changed(WHOLE, lambda footer: footers.set_element(footer, 1, TYPE=footers.INT32)),
    "schema-repetition-other": changed(
        WHOLE, lambda footer: footers.set_element(footer, 1, REPETITION=footers.REQUIRED)
    ),
}
