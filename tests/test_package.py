"""What `pip install` brings: files, names, and how little an import costs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from helpers.offline import launch, run_offline
from helpers.paths import ROOT
from helpers.tiny import write_tiny

import fashion_rq_bench
from fashion_rq_bench.errors import FashionRQError
from fashion_rq_bench.hub import activate

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOMES = {"fashion_rq_bench": "fashion_rq_bench"}
HOMES |= {f"fashion_rq_bench.{name}": name for name in ("builders", "metrics")}


# --- public names -----------------------------------------------------------------------------


def test_the_public_names_are_these() -> None:
    assert fashion_rq_bench.__all__ == [
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
    assert set(fashion_rq_bench.__all__) <= set(dir(fashion_rq_bench))
    for name in fashion_rq_bench.__all__:
        assert getattr(fashion_rq_bench, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'fashion_rq_bench' has no attribute 'ndgc'"):
        _ = fashion_rq_bench.ndgc


def test_the_version_is_that_of_the_project() -> None:
    assert fashion_rq_bench.__version__ == PROJECT["project"]["version"]


def modules_after(code: str) -> set[str]:
    """Names in sys.modules after ``code``, less those of an interpreter not activated."""
    forget = "[sys.modules.pop(n) for n in list(sys.modules) if n.startswith('fashion_rq_bench')]"
    before = f"import sys; {forget}; before = set(sys.modules)"
    script = f"{before}; {code}; print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_an_import_brings_nothing_but_the_hook() -> None:
    ours = {"", "._moved", "._version", ".hub", ".hub.activate", ".hub.import_hook"}
    found = modules_after("import fashion_rq_bench")
    assert {name for name in found if name.startswith("fashion_rq_bench")} == {
        f"fashion_rq_bench{name}" for name in ours
    }
    others = {name.split(".")[0] for name in found} - {"fashion_rq_bench"}
    assert others <= {"warnings", "_py_warnings", "__future__"}


@pytest.mark.parametrize("name", ["schema", "errors", "editions.edition", "measures.ranking"])
def test_core_modules_import_no_heavy_library(name: str) -> None:
    found = {module.split(".")[0] for module in modules_after(f"import fashion_rq_bench.{name}")}
    assert not found & {"torch", "mteb", "datasets", "evaluate", "transformers", "sklearn"}


# --- the wheel --------------------------------------------------------------------------------


def packages_in_the_tree() -> set[str]:
    found = set()
    for package, home in HOMES.items():
        for init in (ROOT / home).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / home).parts
            found.add(".".join((package, *parts)))
    return found


def test_the_packages_in_pyproject_are_those_of_the_tree() -> None:
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages_in_the_tree()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a clean copy of the tree."""
    source = tmp_path_factory.mktemp("source")
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.pyc")
    for name in ("fashion_rq_bench", "builders", "metrics"):
        shutil.copytree(ROOT / name, source / name, ignore=skip)
    for name in ("pyproject.toml", "README.md", "LICENSE", "dataset_card.md"):
        shutil.copy(ROOT / name, source / name)
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_installs_one_name_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"fashion_rq_bench"}


def test_the_wheel_holds_every_module_and_data_file_of_the_tree(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {"fashion_rq_bench/dataset_card.md"}
    for package, home in HOMES.items():
        for path in (ROOT / home).rglob("*"):
            place = f"{package.replace('.', '/')}/{path.relative_to(ROOT / home).as_posix()}"
            if path.is_file() and not re.search(r"__pycache__|\.pyc$|/\.", place):
                expected.add(place)
    assert inside == expected


def test_the_wheel_stays_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 10 * 2**20
    mini = [i for i in zipfile.ZipFile(wheel).infolist() if "/data/mini/" in i.filename]
    assert sum(info.file_size for info in mini) < 8 * 2**20


# --- an environment of its own ----------------------------------------------------------------


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The interpreter of an environment that holds the wheel, and sees our dependencies."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(ours), encoding="utf-8")
    return python


ACTIVATE = "from fashion_rq_bench.hub.activate import *; print(activate_environment())"
DEACTIVATE = "from fashion_rq_bench.hub.activate import *; print(deactivate_environment())"
LOAD = """
from datasets import load_dataset
print(load_dataset("fashion-rq-bench", "ranking", split="test").num_rows)
"""


def test_activate_makes_the_two_lines_work_and_deactivate_undoes_it(
    installed: Path, tmp_path: Path
) -> None:
    write_tiny(tmp_path / "tiny")
    empty, where = tmp_path / "empty", {"FASHION_RQ_BENCH_DATA": str(tmp_path / "tiny")}
    assert launch(LOAD, empty, python=installed, **where).returncode != 0
    first, second = (run_offline(ACTIVATE, empty, python=installed).strip() for _ in range(2))
    assert first == second
    assert tmp_path / "env" in Path(first).parents
    assert run_offline(LOAD, empty, python=installed, **where) == "24\n"
    assert run_offline(DEACTIVATE, empty, python=installed).strip() == first
    assert run_offline(DEACTIVATE, empty, python=installed).strip() == "None"
    assert not Path(first).exists()


def test_an_activated_start_is_light_and_silent(installed: Path, tmp_path: Path) -> None:
    code, empty = "import sys; print(*sys.modules)", tmp_path / "empty"
    plain = set(run_offline(code, empty, python=installed).split())
    pth = Path(run_offline(ACTIVATE, empty, python=installed).strip())
    active = launch(code, empty, python=installed)
    assert active.stderr == ""
    added = set(active.stdout.split()) - plain
    assert "fashion_rq_bench" in added
    others = {name for name in added if not name.startswith("fashion_rq_bench")}
    assert others <= {"warnings", "_py_warnings", "__future__"}
    shutil.rmtree(pth.parent / "fashion_rq_bench")
    removed = launch("print('fine')", empty, python=installed)
    assert (removed.stdout, removed.stderr) == ("fine\n", "")


def test_the_wheel_can_write_and_open_an_edition(installed: Path, tmp_path: Path) -> None:
    code = f"""
import json, sys
sys.path.append({str(ROOT / "tests")!r})
from pathlib import Path
from helpers.tiny import write_tiny
import fashion_rq_bench
from fashion_rq_bench.hub.evaluate_plugin import metric_folders
edition_id = write_tiny(Path("out"))
opened = fashion_rq_bench.Edition.open("out")
opened.verify()
print(json.dumps([edition_id == opened.id, fashion_rq_bench.__file__, sorted(metric_folders())]))
"""
    same, place, metrics = json.loads(run_offline(code, tmp_path / "empty", python=installed))
    assert same
    assert place.startswith(str(tmp_path / "env"))
    assert metrics == sorted(
        {path.parent.name for path in (ROOT / "metrics").glob("*/*.py")}
        & {path.stem for path in (ROOT / "metrics").glob("*/*.py")}
    )


def test_an_environment_that_cannot_be_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "file" / "site-packages"))
    with pytest.raises(FashionRQError, match="python -m venv"):
        activate.activate_environment()
    assert activate.deactivate_environment() is None
