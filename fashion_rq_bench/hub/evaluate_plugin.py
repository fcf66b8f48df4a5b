"""``evaluate.load("attr_relevance")`` by bare name.

In:  the modules of ``evaluate`` that resolve names, once imported.
Out: their ``evaluation_module_factory`` finds this package's metrics (``metrics/NAME/NAME.py``) on
     disk; every other name goes through untouched.

A module of that name in the working directory wins, and ``evaluate-metric/NAME`` still means the
Hub's.
"""

from __future__ import annotations

import functools
import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fashion_rq_bench.hub.import_hook import wrap

__all__ = ["extend", "metric_folders"]

if TYPE_CHECKING:
    from fashion_rq_bench.hub.import_hook import Factory

_FACTORY = "evaluation_module_factory"
_METRICS = "fashion_rq_bench.metrics"


@cache
def metric_folders() -> dict[str, Path]:
    """Name to folder of every metric that ships with this package."""
    spec = importlib.util.find_spec(_METRICS)
    roots = (spec.submodule_search_locations if spec is not None else None) or []
    scripts = [script for root in roots for script in Path(root).glob("*/*.py")]
    return {script.stem: script.parent for script in scripts if script.stem == script.parent.name}


def extend(module: ModuleType) -> None:
    """Wrap the module's ``evaluation_module_factory``; a second call changes nothing.

    Raises:
        AttributeError: if this version of ``evaluate`` has no such function.
    """
    wrap(module, _FACTORY, _extended)


def _extended(factory: Factory) -> Factory:
    @functools.wraps(factory)
    def evaluation_module_factory(
        path: str, module_type: str | None = None, *args: Any, **options: Any
    ) -> Any:
        local = (Path(path) / f"{Path(path).name}.py").is_file()
        ours = metric_folders().get(path) if module_type in (None, "metric") else None
        if ours is not None and not local:
            path = str(ours)
        return factory(path, module_type, *args, **options)

    return evaluation_module_factory
