"""Every path, module and link that the guides and design notes name is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from helpers.paths import ROOT

TOP = ("builders", "docs", "fashion_rq_bench", "metrics", "scripts", "tests")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
TREE = {
    f"/{path.relative_to(ROOT).as_posix()}"
    for top in TOP
    for path in (ROOT / top).rglob("*")
    if "__pycache__" not in path.parts
} | {f"/{top}" for top in TOP}
PATH = re.compile(
    r"(?<![\w./-])(?:[\w-]+/)*[\w-]+\.py\b|(?<![\w./-])(?:" + "|".join(TOP) + r")/[\w./-]*"
)
MODULE = re.compile(r"\bfashion_rq_bench(?:\.[a-z_]\w*)+")
IMPORT = re.compile(r"^(?:>>> )?from (fashion_rq_bench[\w.]*) import ([\w, ]+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:\s]+)\)")


def missing_paths(text: str) -> list[str]:
    """Paths in a text that end no path of the tree: ``relevance/images.py`` stands for the one."""
    named = {found.rstrip("/.") for found in PATH.findall(text)}
    return sorted(one for one in named if not any(known.endswith(f"/{one}") for known in TREE))


def exists(dotted: str) -> bool:
    """A module of ours, or what stands in one."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert missing_paths(text) == []
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []
    modules = set(MODULE.findall(text))
    for home, names in IMPORT.findall(text):
        modules |= {f"{home}.{name.strip()}" for name in names.split(",")}
    assert [one for one in sorted(modules) if not exists(one)] == []


def test_stale_names_are_found() -> None:
    text = "`matching.py`, builders/nothing/run.py, relevance/images.py and docs/metrics.md."
    assert missing_paths(text) == ["builders/nothing/run.py", "matching.py"]
    assert not exists("fashion_rq_bench.nowhere.at_all")
    assert exists("fashion_rq_bench.measures.ranking.ndcg")
