"""What the migrations made of the audit's schema, and whether the database still has it: functions, triggers, tables, grants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from django.db import connection

# Of each thing its name and everything about it that could make it do something else. A function's body comes last.
_NOW = """
select 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', concat_ws(' ', l.lanname,
       p.provolatile, p.proowner::regrole, case when p.prosecdef then 'as its owner' end, p.proconfig::text),
       coalesce(nullif(p.prosrc, ''), pg_get_functiondef(p.oid))
from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = 'audit'::regnamespace
union all
select 'trigger ' || t.tgname || ' on ' || c.relname, concat_ws(' ', t.tgenabled,
       regexp_replace(pg_get_triggerdef(t.oid), '^CREATE TRIGGER ' || t.tgname || ' ', '')), ''
from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = 'audit'::regnamespace and not t.tgisinternal
union all
select 'relation ' || c.relname, concat_ws(' ', c.relkind, c.relpersistence, c.relowner::regrole,
       case when c.relrowsecurity or c.relforcerowsecurity then 'row security' end,
       (select string_agg('rule ' || r.rulename, ' ' order by r.rulename) from pg_rewrite r where r.ev_class = c.oid),
       (select string_agg(a.grantee::regrole || ' may ' || a.privilege_type, ', ' order by a.grantee::regrole::text, a.privilege_type)
        from aclexplode(c.relacl) a where a.grantee <> c.relowner and a.privilege_type <> 'SELECT')),
       (select string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attacl::text), ', ' order by a.attnum)
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
from pg_class c where c.relnamespace = 'audit'::regnamespace and c.relkind in ('r', 'v', 'm', 'f', 'p')
"""

EXPECTED: Mapping[str, str] = {
    "function await_seal()": "plpgsql v levee_audit as its owner {search_path=pg_catalog} 849f2d0ae312101fcf16646500e996bf",
    "function link_hash(sequence bigint, previous text, event uuid, event_hash text)": "sql i levee_audit 81493ea5b4d5922655d1046282a9aad0",
    "function refuse()": "plpgsql v levee_audit b9dafb4e6e175c58a16702df67cd7abd",
    "function row_hash(e audit.event)": "sql s levee_audit 192b138d0efec6f121d244232c31719c",
    "function seal_events(most integer)": "plpgsql v levee_audit as its owner {search_path=pg_catalog} fd0c8c912f2982a88597fd32aad27106",
    "function seal_row()": "plpgsql v levee_audit {TimeZone=UTC} 1d726001a0b1b167b7d46279b5ce05e4",
    "relation event": "r p levee_audit levee_app may INSERT dfe8a3918fe94d110983a9d3900a51dc",
    "relation head": "r p levee_audit levee_app may INSERT 775a70c459b36db0aab040ebe91925d0",
    "relation pending": "r p levee_audit 3d80c80de562d999a28d30aebdd2a931",
    "relation seal": "r p levee_audit f9f1f7b9e13eaf582fecc40255e2ef21",
    "trigger await_seal on event": "A AFTER INSERT ON audit.event FOR EACH ROW EXECUTE FUNCTION audit.await_seal()",
    "trigger refuse_change on event": "A BEFORE DELETE OR UPDATE ON audit.event FOR EACH ROW EXECUTE FUNCTION audit.refuse()",
    "trigger refuse_change on head": "A BEFORE DELETE OR UPDATE ON audit.head FOR EACH ROW EXECUTE FUNCTION audit.refuse()",
    "trigger refuse_change on seal": "A BEFORE DELETE OR UPDATE ON audit.seal FOR EACH ROW EXECUTE FUNCTION audit.refuse()",
    "trigger refuse_truncate on event": "A BEFORE TRUNCATE ON audit.event FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse()",
    "trigger refuse_truncate on head": "A BEFORE TRUNCATE ON audit.head FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse()",
    "trigger refuse_truncate on seal": "A BEFORE TRUNCATE ON audit.seal FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse()",
    "trigger seal_row on event": "A BEFORE INSERT ON audit.event FOR EACH ROW EXECUTE FUNCTION audit.seal_row()",
}  # fmt: skip


def actual() -> dict[str, str]:
    """What the database has now, in the form of EXPECTED."""
    with connection.cursor() as cursor:
        cursor.execute(_NOW)
        return {name: f"{about} {_short(body)}".rstrip() for name, about, body in cursor.fetchall()}


def _short(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:32] if body else ""


def differences() -> Iterator[str]:
    """The differences from what the migrations made, in words."""
    definitions = actual()
    for name in sorted(EXPECTED.keys() | definitions.keys()):
        if name not in definitions:
            yield f"The {name} of the audit is gone."
        elif name not in EXPECTED:
            yield f"The audit has a {name} that no migration of Levee made."
        elif definitions[name] != EXPECTED[name]:
            yield f"The {name} of the audit isn't what Levee's migrations made."
