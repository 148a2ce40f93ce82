"""What has ended, counted by the database when it ends (migration 0014), so that a scrape needn't count a million rows.

Each row is a part of a total: transactions that end something at the same time count in slots of their own, and none waits for another.
"""

from __future__ import annotations

from django.db import models


class EndedJobs(models.Model):
    """A part of how many jobs of a command have ended in a state."""

    pk = models.CompositePrimaryKey("command", "state", "slot")
    command = models.CharField(max_length=20)
    state = models.CharField(max_length=17)
    slot = models.IntegerField()
    jobs = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.command} {self.state}: {self.jobs}"


class EndedAttempts(models.Model):
    """A part of how many attempts of a kind of worker lost their lease, and of the seconds that they all took."""

    pk = models.CompositePrimaryKey("worker", "kind", "slot")
    worker = models.CharField(max_length=200)  # "spark", whichever of them
    kind = models.CharField(max_length=7)
    slot = models.IntegerField()
    lost = models.BigIntegerField()
    seconds = models.FloatField()

    def __str__(self) -> str:
        return f"{self.worker} {self.kind}: {self.lost} lost, {self.seconds:.0f} s"
