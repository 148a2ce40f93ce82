#!/bin/sh
# As the official image's: a first word that is an option is redis-server's.
set -e
case "$1" in -*|*.conf) set -- redis-server "$@" ;; esac
umask 0077
exec "$@"
