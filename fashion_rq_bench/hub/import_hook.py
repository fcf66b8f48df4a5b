"""Act on a module once it has been imported, without importing it.

In:  module names, each with a function of the module.
Out: the function is called right after the module's code has run, or at once if it already has.

A finder on ``sys.meta_path`` lets the other finders find the module and wraps its loader. What a
function raises becomes a warning: extending a library must never break importing it. Imports here
are few, since this may run at every start of the interpreter (``fashion-rq activate``).
"""

from __future__ import annotations

import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Action = Callable[[ModuleType], object]
    Factory = Callable[..., Any]

__all__ = ["after_import", "forget", "is_importing", "wrap"]

_WRAPPED = "_fashion_rq_bench"


def after_import(actions: Mapping[str, Action]) -> None:
    """Run each action on its module, now or when it is imported; a second call adds nothing.

    Args:
        actions: full module name to a function of the module; must be idempotent.
    """
    finder = _installed() or _Finder()
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    fresh = {name: action for name, action in actions.items() if name not in finder.actions}
    finder.actions.update(fresh)
    for name, action in fresh.items():
        module = sys.modules.get(name)
        if module is not None and not is_importing(module):
            _run(action, module)


def forget() -> None:
    """Remove the finder; modules acted upon stay as they are."""
    finder = _installed()
    if finder is not None:
        sys.meta_path.remove(finder)


def wrap(module: ModuleType, name: str, extended: Callable[[Factory], Factory]) -> None:
    """Put the extended form of a module's function in its place; a second call changes nothing.

    Raises:
        AttributeError: if this version of the library has no such function.
    """
    function = getattr(module, name)
    if not hasattr(function, _WRAPPED):
        wrapper = extended(function)
        setattr(wrapper, _WRAPPED, True)
        setattr(module, name, wrapper)


def _installed() -> _Finder | None:
    return next((finder for finder in sys.meta_path if isinstance(finder, _Finder)), None)


def is_importing(module: ModuleType) -> bool:
    """Whether the module's import has begun and not ended."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _run(action: Action, module: ModuleType) -> None:
    try:
        action(module)
    except Exception as error:
        warnings.warn(
            f"fashion-rq-bench could not extend {module.__name__!r}: {error}", stacklevel=2
        )


class _Finder:
    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that runs the action afterwards."""
        if name not in self.actions:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        for finder in others:
            spec: Any = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self.actions[name])
                found: ModuleSpec = spec
                return found
        return None


class _Loader:
    """The loader of a module, and what to do once it has run."""

    def __init__(self, loader: Any, action: Action) -> None:
        self._loader = loader
        self._action = action

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the loader does."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with its own loader in place, then the action."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _run(self._action, module)
