"""Progress of long work, on standard error only.

In:  an iterable (or a total) and what is being done.
Out: the same items, with a rich bar where a terminal shows it, and nothing otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from fashion_rq_bench.support.optional import require

__all__ = ["track", "without_loading_bars"]

Item = TypeVar("Item")


def track(
    items: Iterable[Item], description: str, total: int | None = None, unit: int = 1
) -> Iterator[Item]:
    """Yield ``items`` while showing a bar.

    Args:
        items: what to iterate over.
        description: what is being done, e.g. "embedding products".
        total: number of steps times ``unit``; taken from ``len(items)`` if it has one.
        unit: how far the bar moves per item (a batch size, say).
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    size = len(items) * unit if total is None and isinstance(items, Sized) else total
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=size)
        for item in items:
            yield item
            bar.advance(task, unit)


@contextmanager
def without_loading_bars() -> Iterator[None]:
    """Keep transformers from drawing a bar for every file of weights."""
    logging = require("transformers.utils.logging", "build")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
