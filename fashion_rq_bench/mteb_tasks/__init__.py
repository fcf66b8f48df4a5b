"""The four tasks, whole-corpus retrieval and the benchmark in mteb.

``register()`` makes ``mteb.get_task``, ``mteb.get_tasks`` and ``mteb.get_benchmark`` find them; the
hook that ``import fashion_rq_bench`` installs calls it when mteb is imported. The classes live in
``tasks.py``, which imports mteb, and are reached from here by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fashion_rq_bench.mteb_tasks.tasks import (
        FashionRQClassification,
        FashionRQParaphrase,
        FashionRQRanking,
        FashionRQRetrieval,
        FashionRQSibling,
    )

__all__ = [
    "FashionRQClassification",
    "FashionRQParaphrase",
    "FashionRQRanking",
    "FashionRQRetrieval",
    "FashionRQSibling",
    "register",
]


def register() -> None:
    """Tell mteb of the tasks and of the benchmark ``FashionRQBench``; calling it again is harmless.

    Raises:
        MissingDependencyError: if mteb is not installed.
    """
    from fashion_rq_bench.support.optional import require

    require("mteb", "mteb")
    from fashion_rq_bench.mteb_tasks.registration import register_all

    register_all()


def __getattr__(name: str) -> Any:
    if name.startswith("FashionRQ") and name in __all__:
        from fashion_rq_bench.mteb_tasks import tasks

        return getattr(tasks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
