from django.apps import AppConfig


class TablesConfig(AppConfig):
    name = "tables"

    def ready(self) -> None:
        from console.audit import ports
        from tables.catalog.audit_port import KnownTables

        ports.answers(KnownTables())
