#!/bin/bash
# What the official image's does, as far as the composition relies on it: initdb, the database, the scripts of the first start.
set -eo pipefail
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?is required}"
  initdb --username="${POSTGRES_USER:=postgres}" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") $POSTGRES_INITDB_ARGS
  printf '\nhost all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -p 5432" -w start
  export PGUSER="$POSTGRES_USER" PGDATABASE="${POSTGRES_DB:=$POSTGRES_USER}" PGPASSWORD="$POSTGRES_PASSWORD"
  [ "$POSTGRES_DB" = postgres ] || psql -v ON_ERROR_STOP=1 -d postgres -v db="$POSTGRES_DB" <<< 'create database :"db";'
  for f in /docker-entrypoint-initdb.d/*; do
    case "$f" in
      *.sh) if [ -x "$f" ]; then "$f"; else . "$f"; fi ;;
      *.sql) psql -v ON_ERROR_STOP=1 --no-password --no-psqlrc -f "$f" ;;
    esac
  done
  unset PGPASSWORD PGUSER PGDATABASE
  pg_ctl -D "$PGDATA" -m fast -w stop
fi
[ "$1" = postgres ] && set -- "$@" -c listen_addresses='*'
exec "$@"
