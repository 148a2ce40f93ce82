#!/bin/sh
# The passwords of the roles that console/roles.sql has made, at the first start of the PostgreSQL of docker-compose.yml.
set -eu
psql --set ON_ERROR_STOP=1 --quiet --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\getenv app LEVEE_DB_APP_PASSWORD
\getenv migrate LEVEE_DB_MIGRATE_PASSWORD
alter role levee_app password :'app';
alter role levee_migrate password :'migrate';
SQL
