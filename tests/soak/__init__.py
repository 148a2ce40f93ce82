"""Long runs by `make soak`; each runs tiny once with the tests, so that it can't rot."""
