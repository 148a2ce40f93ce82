"""The table with old files that the pages' tests use, where a test doesn't make one of its own."""

from tests.jobs.web.commands.vacuum.conftest import sales as sales
