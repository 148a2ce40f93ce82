"""Who edited a request is never changed or removed, and says so: the trigger of the decisions looked for a column that edits don't have."""

from django.db import migrations

RULES = """
create function jobs_keep_edit() returns trigger language plpgsql as $$
begin
    raise exception 'who edited a request is never changed or removed' using errcode = '42501';
end $$;

drop trigger edit_kept on jobs_edit;
create trigger edit_kept before update or delete on jobs_edit for each row execute function jobs_keep_edit();
"""

DROP = """
drop trigger edit_kept on jobs_edit;
create trigger edit_kept before update or delete on jobs_edit for each row execute function jobs_keep_decision();
drop function jobs_keep_edit();
"""


class Migration(migrations.Migration):
    dependencies = [("jobs", "0008_policy_changes")]

    operations = [migrations.RunSQL(RULES, DROP)]
