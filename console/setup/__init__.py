"""Makes a fresh clone ready to run: standard library only, run by the system's own Python before anything is installed."""
