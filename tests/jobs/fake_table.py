"""Delta tables in small, for tests of jobs without Spark: real commit files, made with a link that succeeds once per version.

Standard library only: the process that plays the JVM imports nothing else. `marks` is the independent reading that tests compare
job states with; it shares no code with Levee.
"""

import json
import os
import secrets
import time
from collections import defaultdict
from pathlib import Path

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'


def write_data(table, rows):
    """A data file that no commit names yet; its name."""
    name = f"part-{secrets.token_hex(8)}.snappy.parquet"
    (Path(table) / name).write_bytes(b"x" * max(1, rows))
    return name


def commit(table, operation, user_metadata, files):
    """Adds `files` (name to rows) as the next version, made with one link. Returns the version."""
    log = Path(table) / "_delta_log"
    log.mkdir(exist_ok=True)
    fresh = log / f".{secrets.token_hex(8)}.tmp"
    while True:
        version = max((int(p.stem) for p in log.glob("*.json")), default=-1) + 1
        fresh.write_text(
            "".join(json.dumps(a) + "\n" for a in _actions(table, version, operation, user_metadata, files))
        )
        try:
            os.link(fresh, log / f"{version:020d}.json")
        except FileExistsError:
            continue
        finally:
            fresh.unlink()
        return version


def _actions(table, version, operation, user_metadata, files):
    now = int(time.time() * 1000)
    yield {
        "commitInfo": {
            "timestamp": now,
            "operation": operation,
            "operationParameters": {},
            "operationMetrics": {"numFiles": str(len(files))},
            "readVersion": version - 1,
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "engineInfo": "fake",
            "userMetadata": user_metadata,
        }
    }
    if version == 0:
        yield {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
        yield {
            "metaData": {
                "id": f"fake-{Path(table).name}",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": SCHEMA,
                "partitionColumns": [],
                "configuration": {},
                "createdTime": now,
            }
        }
    for name, rows in files.items():
        size = (Path(table) / name).stat().st_size
        stats = json.dumps({"numRecords": rows})
        yield {
            "add": {
                "path": name,
                "partitionValues": {},
                "size": size,
                "modificationTime": now,
                "dataChange": True,
                "stats": stats,
            }
        }


def marks(table):
    """Job id to the versions whose commit carries its mark, in an independent reading of the log."""
    found = defaultdict(list)
    for path in sorted((Path(table) / "_delta_log").glob("*.json")):
        for line in path.read_text().splitlines():
            info = json.loads(line).get("commitInfo") or {}
            if info.get("userMetadata"):
                found[json.loads(info["userMetadata"])["job"]].append(int(path.stem))
    return dict(found)


def rows(table):
    """The table's rows as its log adds them up, every named file being there."""
    total = 0
    for path in sorted((Path(table) / "_delta_log").glob("*.json")):
        for line in path.read_text().splitlines():
            add = json.loads(line).get("add")
            if add:
                assert (Path(table) / add["path"]).stat().st_size == add["size"], add["path"]
                total += json.loads(add["stats"])["numRecords"]
    return total
