-- Levee's roles and what they may do. Run by a superuser, connected to Levee's own database, once or again:
--   createdb levee && psql -d levee -f console/roles.sql
-- and give levee_app and levee_migrate a way to sign in (ALTER ROLE ... PASSWORD, or pg_hba.conf).
-- `manage.py up` runs it at every start of its embedded server.
--   levee_audit    owns the audit table; nobody signs in as it
--   levee_migrate  owns everything else and runs the migrations (LEVEE_DATABASE_ADMIN_URL)
--   levee_app      the application (LEVEE_DATABASE_URL): reads and writes rows, changes no table
do $$
declare
  login text;
begin
  foreach login in array array['levee_audit', 'levee_migrate', 'levee_app'] loop
    if not exists (select from pg_roles where rolname = login) then
      execute format('create role %I nologin', login);
    end if;
  end loop;
  -- Before 16 there is no INHERIT option of a grant.
  if current_setting('server_version_num')::int >= 160000 then
    execute 'grant levee_audit to levee_migrate with inherit false, set true';
  else
    grant levee_audit to levee_migrate;
  end if;
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect, temporary on database %I to levee_app, levee_migrate', current_database());
  execute format('alter database %I owner to levee_migrate', current_database());
end $$;

alter role levee_migrate login;
alter role levee_app login nosuperuser nocreatedb nocreaterole noreplication nobypassrls;

revoke all on schema public from public;
grant usage, create on schema public to levee_migrate;
grant usage on schema public to levee_app;
alter default privileges for role levee_migrate in schema public
  grant select, insert, update, delete on tables to levee_app;
alter default privileges for role levee_migrate in schema public
  grant usage on sequences to levee_app;

-- What the application may do in it is granted by the migration that makes the table.
create schema if not exists audit authorization levee_audit;
grant usage on schema audit to levee_app, levee_migrate;
