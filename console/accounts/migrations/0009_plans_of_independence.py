"""The functions of independence keep their plans: as SQL each call of them was planned anew, which took longer than the call itself."""

from typing import ClassVar

from django.db import migrations

# A person and everybody who stands above them.
LINE = """
with recursive line(id) as (
    select who
    union
    select a.by_id from line join accounts_appointment a on a.person_id = line.id
    where a.by_id is not null and a.vouched_at is null and a.role in ('', 'admin')
)
select id from line
"""

INDEPENDENT = "select not exists (select accounts_line(one) intersect select accounts_line(other))"

# Whether one person may judge what another one asks for: independent, with a role there that nobody of the other's line gave.
MAY_JUDGE = """
select accounts_independent(judge, author) and exists (
    select from accounts_grant g join accounts_appointment a on a.grant_id = g.id
    where g.person_id = judge and g.role = wanted and (g.scope = 'everything' or g.root_id = on_root or g.table_id = on_table)
      and (a.by_id is null or a.vouched_at is not null or accounts_independent(a.by_id, author)))
"""

LINE_OF = "accounts_line(who uuid) returns setof uuid"
ONE_ANSWER = {
    "accounts_independent(one uuid, other uuid) returns boolean": INDEPENDENT,
    "accounts_may_judge(judge uuid, author uuid, wanted varchar, on_root uuid, on_table uuid) returns boolean": MAY_JUDGE,
}

KEEP_PLANS = "\n".join(
    [
        f"create or replace function {LINE_OF} language plpgsql stable as $$ begin return query {LINE}; end $$;",
        *(
            f"create or replace function {signature} language plpgsql stable as $$ begin return ({query}); end $$;"
            for signature, query in ONE_ANSWER.items()
        ),
    ]
)
BEFORE = "\n".join(
    f"create or replace function {signature} language sql stable as $$ {query} $$;"
    for signature, query in ({LINE_OF: LINE} | ONE_ANSWER).items()
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0008_story_looked_at")]
    operations: ClassVar = [migrations.RunSQL(KEEP_PLANS, BEFORE)]
