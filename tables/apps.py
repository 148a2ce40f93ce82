from django.apps import AppConfig


class TablesConfig(AppConfig):
    name = "tables"

    def ready(self) -> None:
        from console.audit import ports
        from tables.catalog.audit_port import KnownTables
        from tables.catalog.roots.object_stores import lookup
        from tables.storage.objects import buckets

        ports.answers(KnownTables())
        buckets.use(lookup)
