"""Imports point down one order of packages, close no circle, and are absolute."""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path

import grimp
import pytest
from helpers.paths import ROOT

NAME = "fashion_rq_bench"

ORDER: dict[str, tuple[str, ...]] = {
    NAME: (
        "_version",
        "_moved",
        "errors",
        "support",
        "schema",
        "words",
        "measures",
        "relevance",
        "encoders",
        "editions",
        "retrievers",
        "evaluation",
        "mteb_tasks",
        "people",
        "builders",
        "report",
        "metrics",
        "hub",
        "commands",
        "cli",
        "__main__",
    ),
    f"{NAME}.builders": (
        "catalog",
        "embedding",
        "hierarchy",
        "rqvae",
        "context",
        "queries",
        "tasks",
        "edition",
        "weights",
        "pipeline",
    ),
    f"{NAME}.builders.queries": ("say", "grammar", "check", "generator", "llm", "show"),
    f"{NAME}.report": ("board", "tables", "plots", "page", "write"),
}
"""From bottom to top, the packages of each package; ``docs/architecture.md`` draws them."""


def installed(folder: Path) -> Path:
    """A copy of our sources as they are installed: ``builders`` and ``metrics`` inside."""
    for name in (NAME, "builders", "metrics"):
        inside = folder / NAME / ("" if name == NAME else name)
        for file in (ROOT / name).rglob("*.py"):
            copy = inside / file.relative_to(ROOT / name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    for module in (folder / NAME / "metrics").glob("*/*.py"):
        (module.parent / "__init__.py").touch()  # `evaluate` loads them as files; grimp wants these
    return folder


def graph_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> grimp.ImportGraph:
    """Every import of a copy, also those inside functions; not those for type checkers only."""
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, NAME, raising=False)
        patch.syspath_prepend(str(folder))
        return grimp.build_graph(NAME, exclude_type_checking_imports=True, cache_dir=None)


def upward(graph: grimp.ImportGraph) -> set[tuple[str, str]]:
    """Pairs (importer, imported) of packages in which the importer stands below."""
    found = set()
    for container, names in ORDER.items():
        broken = graph.find_illegal_dependencies_for_layers(
            layers=tuple(reversed(names)), containers={container}
        )
        found |= {(one.importer, one.imported) for one in broken}
    return found


def circles(graph: grimp.ImportGraph) -> list[tuple[str, ...]]:
    """Chains of imports from a module back to itself."""
    found = []
    for module in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            back = graph.find_shortest_chain(imported, module)
            if back:
                found.append((module, *back))
    return found


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> grimp.ImportGraph:
    with pytest.MonkeyPatch.context() as patch:
        return graph_of(installed(tmp_path_factory.mktemp("tree")), patch)


def test_every_package_has_a_place_in_the_order(graph: grimp.ImportGraph) -> None:
    for container, names in ORDER.items():
        there = {child.rpartition(".")[2] for child in graph.find_children(container)}
        assert there == set(names), container


def test_imports_point_down(graph: grimp.ImportGraph) -> None:
    assert upward(graph) == set()


def test_no_imports_close_a_circle(graph: grimp.ImportGraph) -> None:
    assert circles(graph) == []


@pytest.mark.parametrize("where", ["from {} import cli\n", "def later():\n    import {}.cli\n"])
def test_a_planted_upward_import_is_found(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = installed(tmp_path) / NAME / "measures" / "_ragged.py"
    planted.write_text(planted.read_text(encoding="utf-8") + where.format(NAME), encoding="utf-8")
    found = graph_of(tmp_path, monkeypatch)
    assert (f"{NAME}.measures", f"{NAME}.cli") in upward(found)


def test_a_planted_circle_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = installed(tmp_path) / NAME / "support"
    (room / "one.py").write_text(f"import {NAME}.support.two\n", encoding="utf-8")
    (room / "two.py").write_text(f"def f():\n    import {NAME}.support.one\n", encoding="utf-8")
    one, two = f"{NAME}.support.one", f"{NAME}.support.two"
    assert circles(graph_of(tmp_path, monkeypatch)) == [(one, two, one), (two, one, two)]


def test_imports_are_absolute() -> None:
    files = [file for name in (NAME, "builders", "metrics") for file in (ROOT / name).rglob("*.py")]
    relative = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert len(files) > 200
    assert relative == []
