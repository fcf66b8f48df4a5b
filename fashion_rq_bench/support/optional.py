"""Optional dependencies, imported on first use.

In:  a module name and the extra that brings it.
Out: the module, or MissingDependencyError with the command that installs it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from fashion_rq_bench.errors import MissingDependencyError

__all__ = ["require"]


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``.

    Args:
        module: dotted name, e.g. ``"sentence_transformers"``.
        extra: the extra of this package that installs it, e.g. ``"build"``.

    Raises:
        MissingDependencyError: if the module's top-level package is absent.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingDependencyError(
            f"This step needs the Python package {module.split('.')[0]!r}, which is not installed.",
            fix=f'Install it with: pip install "fashion-rq-bench[{extra}]"',
        ) from error
