"""The worker's border: an unexpected error ends the current job or read with a report, never the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from console.base.logs import log


@contextmanager
def border(
    event: str, about: dict[str, str], tell: Callable[[Exception], None], passing: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Logs any exception inside as `event` with the fields `about`, then hands it to `tell`; reraises those in `passing`.

    The one place of the worker that catches everything, since a person waits for the job or answer, whatever went wrong.
    """
    try:
        yield
    except passing:
        raise
    except Exception as error:  # noqa: BLE001
        log.exception(event, **about, error=str(error).split("\n")[0])
        tell(error)
