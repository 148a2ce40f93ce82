"""What the audit names: actions in the grammar `thing.act`, outcomes, kinds of object."""

from django.db import models


class Action(models.TextChoices):
    SIGN_IN = "session.sign_in"
    SIGN_OUT = "session.sign_out"
    SESSION_CONFIRM = "session.confirm"
    PASSWORD_CHANGE = "person.password_change"
    PERSON_ADD = "person.add"
    PERSON_CHANGE = "person.change"
    GRANT_ADD = "grant.add"
    GRANT_REMOVE = "grant.remove"
    TOKEN_ADD = "token.add"
    TOKEN_REVOKE = "token.revoke"
    POLICY_ADD = "policy.add"
    POLICY_CHANGE = "policy.change"
    POLICY_REMOVE = "policy.remove"
    ROOT_ADD = "root.add"
    ROOT_CHANGE = "root.change"
    ROOT_SCAN = "root.scan"
    TABLE_ADD = "table.add"
    TABLE_CHANGE = "table.change"
    TABLE_HIDE = "table.hide"
    TABLE_SYNC = "table.sync"
    TABLE_NAME = "table.name"
    TABLE_READ_ROWS = "table.read_rows"
    CONVERSION_INSPECT = "conversion.inspect"
    JOB_REQUEST = "job.request"
    JOB_APPROVE = "job.approve"
    JOB_REJECT = "job.reject"
    JOB_COMMENT = "job.comment"
    JOB_EDIT = "job.edit"
    JOB_CANCEL = "job.cancel"
    JOB_WITHDRAW = "job.withdraw"
    JOB_START = "job.start"
    JOB_RETRY = "job.retry"
    JOB_END = "job.end"
    JOB_LATE_COMMIT = "job.late_commit"
    COMMIT_UNEXPLAINED = "commit.unexplained"
    COMMIT_ACKNOWLEDGE = "commit.acknowledge"
    ADDRESS_CALL = "address.call"
    AUDIT_READ = "audit.read"
    AUDIT_EXPORT = "audit.export"
    AUDIT_VERIFY = "audit.verify"
    WORKER_DRAIN = "worker.drain"
    WORKER_RESTART = "worker.restart"


class Outcome(models.TextChoices):
    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"


class ActorKind(models.TextChoices):
    PERSON = "person"
    TOKEN = "token"
    SYSTEM = "system"


class ObjectKind(models.TextChoices):
    PERSON = "person"
    GRANT = "grant"
    TOKEN = "token"
    POLICY = "policy"
    ROOT = "root"
    TABLE = "table"
    JOB = "job"
    WORKER = "worker"
    PATH = "path"
    AUDIT = "audit"
    ADDRESS = "address"
