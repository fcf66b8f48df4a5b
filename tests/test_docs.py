"""What guides and design notes name is there, their snippets run, their lists are the code's."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from helpers.boards import write_results
from helpers.paths import ROOT
from test_architecture import NAME, ORDER

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.schema import domain as domain_module
from fashion_rq_bench.schema.attributes import COMPARATORS, ROLES, Attribute
from fashion_rq_bench.schema.domain import DEFAULT, load_domain

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
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
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


# --- snippets ---------------------------------------------------------------------------------

NOT_RUN = {
    **{("CONTRIBUTING.md", at): "a sketch of a file" for at in range(3)},
    ("README.md", 2): "minutes of a model over all tasks; tests/mteb_tasks runs them",
    ("docs/baselines.md", 0): "downloads a model",
    ("docs/language-models.md", 0): "asks a language model",
    ("docs/mteb.md", 0): "downloads a model",
    ("docs/quantiser.md", 0): "reads the folder of a build",
    ("docs/quantiser.md", 1): "goes on from a batch of training",
    ("docs/user-study.md", 1): "reads what raters send back",
    ("docs/weights.md", 0): "a call without its data",
    ("docs/design/0001-architecture.md", 0): "a sketch of one stage",
}
"""Python blocks that are not run, by page and place, and why."""


def snippets(page: Path) -> dict[tuple[str, int], str]:
    """A page's Python blocks by page and place; sessions are doctests of tests/measures."""
    name = page.relative_to(ROOT).as_posix()
    found = enumerate(PYTHON.findall(page.read_text(encoding="utf-8")))
    return {(name, at): code for at, code in found if not code.startswith(">>>")}


def lay_out(folder: Path) -> None:
    """The files that the pages take for granted."""
    mini = ROOT / NAME / "data" / "mini"
    for name in ("PATH", "path/to/an/edition"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(mini, target_is_directory=True)
    edition = Edition.open("mini")
    write_results(folder / "out" / "results", edition, {"bm25": 0.3, "lsa": 0.6})
    (folder / "shoes.toml").symlink_to(ROOT / "tests" / "helpers" / "domains" / "shoes.toml")
    products = "".join(f"{i},Blue shirt {i},Shirts,{9 + i}\n" for i in range(40))
    (folder / "shop.csv").write_text(f"id,item,kind,price\n{products}", encoding="utf-8")
    for name in ("rqbench", "chat", "llm"):
        lines = "".join(f"{name} shirt {i}\n" for i in range(60))
        (folder / f"{name}.txt").write_text(lines, encoding="utf-8")


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    lay_out(folder)
    return folder


def test_the_blocks_not_run_are_there() -> None:
    assert set(NOT_RUN) <= {key for page in PAGES for key in snippets(page)}


@pytest.mark.parametrize("page", [p for p in PAGES if set(snippets(p)) - set(NOT_RUN)], ids=str)
def test_snippets_run(page: Path, laid_out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(laid_out)
    names: dict[str, object] = {}
    for key, code in snippets(page).items():
        if key not in NOT_RUN:
            exec(compile(code, f"{key[0]}, block {key[1]}", "exec"), names)


# --- lists ------------------------------------------------------------------------------------


def listed(text: str) -> dict[str, str]:
    """Packages and what the picture of the rooms says of them."""
    block = re.search(r"^```\n(commands .*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block, "docs/architecture.md lists the rooms from top to bottom"
    joined = re.sub(r"\n +", " ", block[1])
    return {line.split()[0]: line for line in joined.splitlines()}


def test_the_rooms_of_the_picture_are_those_of_the_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [name for name in ORDER[NAME] if (ROOT / NAME / f"{name}.py").exists() is False]
    rooms.insert(0, "errors")
    assert list(reversed(listed(text))) == rooms
    drawn = re.search(r"```mermaid\n(.*?)```", text, re.DOTALL)
    assert drawn
    assert list(dict.fromkeys(re.findall(r"\w+", drawn[1])[2:])) == rooms[1:]


def test_the_rooms_inside_rooms_are_listed_in_their_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    lines = listed(text)
    for container, names in ORDER.items():
        if container != NAME:
            line = lines[container.split(".")[1]]
            assert " < ".join(names) in line, container


def rows_of(page: str, heading: str) -> set[str]:
    """What the tables of a section name in their first column."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    section = re.split(r"^## ", text.split(f"## {heading}\n")[1], flags=re.MULTILINE)[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_every_key_of_a_domain_is_explained() -> None:
    fashion = load_domain(DEFAULT)
    planning = {number for one in fashion.attributes for number in one.planning}
    tables = {name for name in fashion.words if name not in {a.terms for a in fashion.attributes}}
    assert rows_of("domains.md", "Keys of the file") == {*domain_module._KEYS}
    assert rows_of("domains.md", "Keys of an attribute") == {*Attribute.__dataclass_fields__}
    assert rows_of("domains.md", "Roles") == {*ROLES}
    assert rows_of("domains.md", "Comparators") == {*COMPARATORS}
    assert rows_of("domains.md", "Planning") >= planning
    assert rows_of("domains.md", "Column sets") >= {*fashion.sets}
    assert rows_of("domains.md", "Word tables") >= tables


def test_a_words_module_speaks_of_it() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w ,]+) \| .* \| `([\w./]+)` \|$", text, re.MULTILINE)
    assert len(rows) >= 30
    for words, module in rows:
        source = (ROOT / module).read_text(encoding="utf-8").lower()
        stems = [part for word in words.lower().split(", ") for part in word.split()]
        assert [one for one in stems if one not in source] == [], module
