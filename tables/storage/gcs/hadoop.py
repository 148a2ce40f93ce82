"""A bucket in the words of Google's connector for Hadoop, by which Spark reaches it.

Its settings know no bucket: they count for all of Google's buckets that the JVM opens from then on, so that these have one description.
"""

from __future__ import annotations

from collections.abc import Mapping

from tables.storage.description import HadoopSettings
from tables.storage.gcs.account import Account
from tables.storage.patience import PATIENT

_ACCOUNT = "fs.gs.auth.service.account"
# Told once. Hadoop 3.5 has defaults of its own for a connector of its own, with sizes that this one can't read: "64m" for one.
ALWAYS: Mapping[str, str] = {
    "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
    "fs.AbstractFileSystem.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
    "fs.gs.block.size": str(64 << 20),
    "fs.gs.rewrite.max.chunk.size": str(512 << 20),
    "fs.gs.outputstream.buffer.size": str(8 << 20),
    "fs.gs.inputstream.inplace.seek.limit": str(8 << 20),
    "fs.gs.inputstream.min.range.request.size": str(2 << 20),
    # Else it puts an empty object where a directory was each time the last file of one goes.
    "fs.gs.implicit.dir.repair.enable": "false",
    # A store that is gone fails an attempt after a minute or two.
    "fs.gs.http.connect-timeout": "15000",
    "fs.gs.http.read-timeout": f"{PATIENT.answer_s * 1000:.0f}",
    "fs.gs.http.max.retry": "3",
}
_OWN = (
    "fs.gs.storage.root.url",
    "fs.gs.token.server.url",
    f"{_ACCOUNT}.email",
    f"{_ACCOUNT}.private.key.id",
    f"{_ACCOUNT}.private.key",
)


def connector(prefix: str, endpoint: str, account: Account | None) -> HadoopSettings:
    """One description's settings; of those that it doesn't give, the connector has its own."""
    given = (
        f"{endpoint}/" if endpoint else "",
        account.token_uri if account else "",
        account.client_email if account else "",
        account.private_key_id if account else "",
        account.private_key if account else "",
    )
    values = {name: value for name, value in zip(_OWN, given, strict=True) if value}
    mark = (f"{_ACCOUNT}.private.key.id", account.private_key_id if account else "")
    return HadoopSettings(values, _OWN, [f"{prefix}/"], mark)
