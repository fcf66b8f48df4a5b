"""Build fashion-retrieval benchmarks from a product catalog, and score retrievers on them.

In:  ``import fashion_rq_bench``.
Out: the public names below, each imported when first used, and this package's names made known to
     `datasets`, `evaluate` and `mteb` (``load_dataset("fashion-rq-bench", "ranking")``,
     ``evaluate.load("attr_relevance")``, ``mteb.get_benchmark("FashionRQBench")``).

Importing this package imports none of numpy, pyarrow, torch, mteb, datasets and evaluate.
"""

from __future__ import annotations

from fashion_rq_bench._moved import install as _install
from fashion_rq_bench._version import __version__
from fashion_rq_bench.hub.activate import activate as _activate

TYPE_CHECKING = False  # as `typing` has it, without importing typing
if TYPE_CHECKING:
    from fashion_rq_bench import errors
    from fashion_rq_bench.editions.edition import Edition
    from fashion_rq_bench.measures.ranking import (
        average_precision,
        hit_rate,
        ndcg,
        precision,
        recall,
        reciprocal_rank,
        score,
    )

__all__ = [
    "Edition",
    "__version__",
    "average_precision",
    "errors",
    "hit_rate",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
    "score",
]

_HOMES = {"Edition": "editions.edition", "errors": "errors"}
"""Where a public name lives that is no ranking measure."""


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = import_module(f"{__name__}.{_HOMES.get(name, 'measures.ranking')}")
    found = home if name == "errors" else getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_install()
_activate()
