from django.apps import AppConfig


class TablesConfig(AppConfig):
    name = "tables"

    def ready(self) -> None:
        from console.audit import ports
        from tables.catalog.audit_port import KnownTables
        from tables.catalog.roots.object_stores import lookup
        from tables.storage.s3 import buckets as object_stores

        ports.answers(KnownTables())
        object_stores.use(lookup)
