"""Starts and supervises an instance on one machine: servers, web, workers, dispatcher.

Standard library, psycopg and redis only: no Django, so that `up` stays light and can run
before there is a database to set up.
"""
