"""The gate: what has to pass before a change lands (docs/development.md, The gate)."""
