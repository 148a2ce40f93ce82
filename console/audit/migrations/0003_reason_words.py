"""The index on the words of reasons covers every row: the planner keeps statistics of a partial one's words, and doesn't use them."""

from typing import ClassVar

from django.db import migrations

CREATE = """
set local role levee_audit;
drop index audit.event_reason;
create index event_reason on audit.event using gin (to_tsvector('simple', reason));
reset role;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0002_chain")]
    operations: ClassVar = [migrations.RunSQL(CREATE, migrations.RunSQL.noop)]
