"""Make `datasets`, `evaluate` and `mteb` know this package's names.

In:  nothing, or the running interpreter's environment.
Out: hooks in this process (:func:`activate`, called by ``import fashion_rq_bench``), or a ``.pth``
     file that does the same at every start of this environment's interpreter
     (:func:`activate_environment`, on request only).

Nothing heavy is imported: what is already imported is extended at once, the rest when it is.
"""

from __future__ import annotations

import sys

from fashion_rq_bench.hub.import_hook import after_import, is_importing

TYPE_CHECKING = False  # as `typing` has it, without importing typing at every interpreter start
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

__all__ = ["activate", "activate_environment", "deactivate_environment"]

_MTEB_TASKS = "fashion_rq_bench.mteb_tasks"
_PTH = "fashion_rq_bench_activate.pth"
_LINE = (
    "import sys; exec('try: import fashion_rq_bench\\nexcept Exception: pass')"
    "  # written by `fashion-rq activate`, removed by `fashion-rq deactivate`\n"
)
"""One line, since ``site`` runs a line at a time. Whatever goes wrong, such as the package having
been removed, the interpreter must start as if the file were not there."""


def activate() -> None:
    """Let `datasets`, `evaluate` and `mteb` resolve this package's names in this process."""
    after_import(
        {
            "datasets.load": _extend_datasets,
            "datasets.inspect": _extend_datasets,
            "evaluate.loading": _extend_evaluate,
            "evaluate.inspect": _extend_evaluate,
            "evaluate.evaluation_suite": _extend_evaluate,
            "mteb": _extend_mteb,
            f"{_MTEB_TASKS}.tasks": _extend_mteb,
        }
    )


def _extend_datasets(module: ModuleType) -> None:
    from fashion_rq_bench.hub import datasets_plugin

    datasets_plugin.extend(module)


def _extend_evaluate(module: ModuleType) -> None:
    from fashion_rq_bench.hub import evaluate_plugin

    evaluate_plugin.extend(module)


def _extend_mteb(module: ModuleType) -> None:
    """Register the tasks, unless a module of theirs is half imported: then this is called again.

    That is so where such a module is what imports mteb, and where registering imports it.
    """
    others = [other for name, other in list(sys.modules.items()) if name.startswith(_MTEB_TASKS)]
    if not any(other is not module and is_importing(other) for other in others):
        from fashion_rq_bench import mteb_tasks

        mteb_tasks.register()


def activate_environment() -> Path:
    """Activate at every start of this environment's interpreter, with no import needed.

    Returns:
        The ``.pth`` file, in the ``site-packages`` of the running interpreter's environment; one
        that is already there is left as it is.

    Raises:
        FashionRQError: if that folder cannot be written.
    """
    path = _pth_path()
    if not path.is_file() or path.read_text(encoding="utf-8") != _LINE:
        _change(path, lambda: path.write_text(_LINE, encoding="utf-8"))
    return path


def deactivate_environment() -> Path | None:
    """Undo :func:`activate_environment`.

    Returns:
        The file that was removed, or None if there was none.

    Raises:
        FashionRQError: if it cannot be removed.
    """
    path = _pth_path()
    if not path.is_file():
        return None
    _change(path, path.unlink)
    return path


def _pth_path() -> Path:
    import sysconfig
    from pathlib import Path

    return Path(sysconfig.get_path("purelib")) / _PTH


def _change(path: Path, change: Callable[[], object]) -> None:
    try:
        change()
    except OSError as error:
        from fashion_rq_bench.errors import FashionRQError

        raise FashionRQError(
            f"The environment's folder {path.parent} cannot be written: {error.strerror}.",
            fix="Use a virtual environment of your own (python -m venv), or write "
            "`import fashion_rq_bench` where you load a dataset or a metric.",
        ) from error
