"""Bare names in `datasets`, `evaluate` and `mteb`: no network, any order of imports."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers.offline import run_offline
from helpers.paths import ROOT
from helpers.tiny import DIM, tiny_tables, with_column, write_tiny

import fashion_rq_bench
from fashion_rq_bench.editions.edition import ENVIRONMENT, Edition
from fashion_rq_bench.errors import EditionError
from fashion_rq_bench.hub import datasets_plugin, evaluate_plugin, import_hook
from fashion_rq_bench.schema.tables import CONFIGS, NAME, schema_of


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    for place, name in ((socket.socket, "connect"), (socket, "getaddrinfo")):
        monkeypatch.setattr(place, name, refuse)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    write_tiny(folder)
    return folder


@pytest.fixture
def edition(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: None
) -> Edition:
    """The tiny edition under the bare name, from an empty working directory."""
    folder = shutil.copytree(written, tmp_path / "edition")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setenv(ENVIRONMENT, str(folder))
    return Edition.open(folder)


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


# --- datasets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("config", CONFIGS)
def test_the_bare_name_gives_every_config(edition: Edition, config: str, cache: str) -> None:
    from datasets import load_dataset

    loaded = load_dataset(NAME, config, split="test", cache_dir=cache)
    assert loaded.with_format("arrow")[:].cast(schema_of(config, DIM)).equals(edition.table(config))
    assert "fashion-rq-bench" in loaded.cache_files[0]["filename"]


def test_the_bare_name_has_a_default_and_streams(edition: Edition, cache: str) -> None:
    from datasets import get_dataset_config_names, load_dataset, load_dataset_builder

    assert get_dataset_config_names(NAME) == list(CONFIGS)
    assert load_dataset(NAME, cache_dir=cache)["test"].num_rows == 24
    assert load_dataset_builder(NAME, "sibling", cache_dir=cache).info.splits["test"].num_examples
    assert len(load_dataset(NAME, "corpus", split="test[:25%]", cache_dir=cache)) == 12
    streamed = load_dataset(NAME, "corpus", split="test", streaming=True, cache_dir=cache)
    assert len(list(streamed)) == 48


def test_a_folder_of_that_name_in_the_working_directory_wins(edition: Edition, cache: str) -> None:
    from datasets import load_dataset

    tables = tiny_tables()
    write_tiny(Path(NAME), tables | {"classification": tables["classification"][:50]})
    loaded = load_dataset(NAME, "classification", split="test", cache_dir=cache)
    assert len(loaded) == 50 != edition.num_rows("classification")
    shutil.rmtree(NAME)
    Path(NAME).mkdir()
    (Path(NAME) / "rows.csv").write_text("a\n1\n", encoding="utf-8")
    assert load_dataset(NAME, split="train", cache_dir=cache)[0] == {"a": 1}


def test_replaced_files_are_not_served_from_the_cache(
    edition: Edition, cache: str, tmp_path: Path
) -> None:
    """Only a data file changes, to one of the same size; card and manifest stay."""
    from datasets import load_dataset

    def first() -> Any:
        return load_dataset(NAME, "strings", split="test", cache_dir=cache)[0]["vector"]

    before = first()
    strings = tiny_tables()["strings"]
    moved = with_column(strings, "vector", [v[::-1] for v in strings["vector"].to_pylist()])
    write_tiny(tmp_path / "other", tiny_tables() | {"strings": moved})
    shutil.copy(
        tmp_path / "other" / edition.manifest["configs"]["strings"]["files"][0],
        edition.path / "strings",
    )
    assert first() == before[::-1]


def test_the_revision_is_the_edition_id(edition: Edition, cache: str) -> None:
    from datasets import load_dataset

    assert len(load_dataset(NAME, "corpus", split="test", revision=edition.id, cache_dir=cache))
    with pytest.raises(EditionError, match=edition.id):
        load_dataset(NAME, "corpus", revision="v9", cache_dir=cache)


def test_a_missing_edition_is_an_error_with_a_cure(
    edition: Edition, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datasets import load_dataset

    monkeypatch.setenv(ENVIRONMENT, str(edition.path / "ranking"))
    with pytest.raises(EditionError, match="fashion-rq build"):
        load_dataset(NAME, cache_dir=cache)


def test_other_names_pass_through_untouched() -> None:
    seen: list[Any] = []
    module = ModuleType("fake")
    vars(module)["dataset_module_factory"] = lambda *args, **options: seen.append((args, options))
    datasets_plugin.extend(module)
    extended = vars(module)["dataset_module_factory"]
    extended("squad", "v1", data_dir="x")
    assert seen == [(("squad", "v1"), {"data_dir": "x"})]
    datasets_plugin.extend(module)
    assert vars(module)["dataset_module_factory"] is extended


def test_an_unknown_version_of_datasets_is_a_warning_not_a_crash(tmp_path: Path) -> None:
    folder = tmp_path / "datasets"
    folder.mkdir()
    for name in ("__init__.py", "load.py", "inspect.py"):
        (folder / name).write_text("", encoding="utf-8")
    code = f"""
import sys, warnings
sys.path.insert(0, {str(tmp_path)!r})
import fashion_rq_bench
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import datasets.load
print(*(entry.message for entry in seen))
"""
    printed = run_offline(code, tmp_path / "here")
    assert "could not extend 'datasets.load'" in printed
    assert "dataset_module_factory" in printed


LOAD = f"""
from datasets import load_dataset
print(load_dataset("{NAME}", "ranking", split="test").num_rows)
"""


@pytest.mark.parametrize(
    "order",
    ["import fashion_rq_bench", "import datasets\nimport fashion_rq_bench"],
    ids=["ours first", "datasets first"],
)
def test_either_may_be_imported_first(order: str, written: Path, tmp_path: Path) -> None:
    printed = run_offline(order + LOAD, tmp_path / "empty", FASHION_RQ_BENCH_DATA=str(written))
    assert printed.split() == ["24"]


def test_the_code_in_the_guide_runs(written: Path, tmp_path: Path) -> None:
    guide = ROOT / "docs" / "editions.md"
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    code = "\n".join(blocks).replace("PATH", str(written)) + "\nprint(len(products))\n"
    printed = run_offline(code, tmp_path / "empty", FASHION_RQ_BENCH_DATA=str(written))
    assert printed.splitlines()[-1] == "48"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_load_by_bare_name_too(method: str, written: Path, tmp_path: Path) -> None:
    code = f"""
import multiprocessing
import fashion_rq_bench
from datasets import load_dataset

def rows(config):
    return load_dataset("{NAME}", config, split="test").num_rows

if __name__ == "__main__":
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print(pool.map(rows, ["corpus", "ranking"]))
    print(load_dataset("{NAME}", "corpus", split="test", num_proc=2).num_rows)
"""
    printed = run_offline(code, tmp_path / "empty", FASHION_RQ_BENCH_DATA=str(written))
    assert printed.splitlines() == ["[48, 24]", "48"]


# --- evaluate ---------------------------------------------------------------------------------

METRIC = '''
import datasets
import evaluate


class Constant(evaluate.Metric):
    """A metric for tests."""

    def _info(self):
        features = datasets.Features(
            {{"predictions": datasets.Value("float64"), "references": datasets.Value("float64")}}
        )
        return evaluate.MetricInfo(
            description="constant", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references):
        """Always the same."""
        return {{"{name}": {value}}}
'''


def make_metric(root: Path, name: str, value: float) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / f"{name}.py").write_text(METRIC.format(name=name, value=value), encoding="utf-8")
    return folder


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: None) -> None:
    """Two metrics of ours, and one of the same name in another working directory."""
    root = tmp_path / "metrics"
    folders = {name: make_metric(root, name, 1.0) for name in ("one_frq", "two_frq")}
    monkeypatch.setattr(evaluate_plugin, "metric_folders", lambda: folders)
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")


def test_evaluate_loads_and_combines_by_bare_name(metrics: None, tmp_path: Path) -> None:
    import evaluate

    cache = str(tmp_path / "cache")
    metric = evaluate.load("one_frq", cache_dir=cache, keep_in_memory=True)
    assert metric.compute(predictions=[1.0], references=[1.0]) == {"one_frq": 1.0}
    both = evaluate.combine(["one_frq", "two_frq"])
    assert both.compute(predictions=[1.0], references=[1.0]) == {"one_frq": 1.0, "two_frq": 1.0}


def test_a_metric_in_the_working_directory_wins(metrics: None, tmp_path: Path) -> None:
    import evaluate

    make_metric(Path.cwd(), "one_frq", 2.0)
    metric = evaluate.load("one_frq", cache_dir=str(tmp_path / "cache"), keep_in_memory=True)
    assert metric.compute(predictions=[1.0], references=[1.0]) == {"one_frq": 2.0}


def test_other_metrics_and_types_pass_through(metrics: None) -> None:
    seen: list[Any] = []
    module = ModuleType("fake")
    vars(module)["evaluation_module_factory"] = lambda *args, **options: seen.append(args[:2])
    evaluate_plugin.extend(module)
    factory = vars(module)["evaluation_module_factory"]
    factory("accuracy")
    factory("one_frq", "comparison")
    factory("evaluate-metric/one_frq", module_type="metric")
    factory("one_frq", module_type="metric")
    ours = str(evaluate_plugin.metric_folders()["one_frq"])
    assert seen == [
        ("accuracy", None),
        ("one_frq", "comparison"),
        ("evaluate-metric/one_frq", "metric"),
        (ours, "metric"),
    ]


SUITE = '''
import evaluate
from evaluate.evaluation_suite import SubTask


class Suite(evaluate.EvaluationSuite):
    """A suite by bare name."""

    def __init__(self, name):
        super().__init__(name)
        self.suite = [SubTask(task_type="text-classification", data="imdb", split="test")]
'''


def test_evaluation_suites_resolve_through_the_same_function(
    metrics: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluate import EvaluationSuite

    folder = tmp_path / "suites" / "suite_frq"
    folder.mkdir(parents=True)
    (folder / "suite_frq.py").write_text(SUITE, encoding="utf-8")
    monkeypatch.setattr(evaluate_plugin, "metric_folders", lambda: {"suite_frq": folder})
    assert len(EvaluationSuite.load("suite_frq").suite) == 1


def test_metric_folders_are_the_packages_own() -> None:
    folders = evaluate_plugin.metric_folders()
    root = Path(fashion_rq_bench.__file__).parent.parent / "metrics"
    on_disk = {path.parent.name for path in root.glob("*/*.py") if path.stem == path.parent.name}
    assert set(folders) == on_disk


@pytest.mark.parametrize("name", sorted(evaluate_plugin.metric_folders()))
def test_every_metric_of_ours_loads_by_bare_name(
    name: str, no_network: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import evaluate

    monkeypatch.chdir(tmp_path)
    metric = evaluate.load(name, keep_in_memory=True)
    assert metric.description.strip()


def test_metrics_of_ours_combine(
    no_network: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import evaluate

    monkeypatch.chdir(tmp_path)
    both = evaluate.combine(["ndcg", "recall_at_k"])
    found = both.compute(predictions=[[0.9, 0.8, 0.7]], references=[[3, 1, 0]])
    assert (found["ndcg@10"], found["recall@10"]) == (1.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    ["import fashion_rq_bench\nimport evaluate", "import evaluate\nimport fashion_rq_bench"],
    ids=["ours first", "evaluate first"],
)
def test_evaluate_may_be_imported_first_or_last(order: str, tmp_path: Path) -> None:
    code = f"{order}\nprint(evaluate.load('attr_relevance').name)"
    assert run_offline(code, tmp_path / "empty").split() == ["attr_relevance"]


# --- the import hook --------------------------------------------------------------------------


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules to import, and a state of the hook that is put back afterwards."""
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if not is_ours(f)])
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("frq_toy")]:
        del sys.modules[name]


def is_ours(finder: object) -> bool:
    return type(finder).__module__ == import_hook.__name__


def toy(folder: Path, name: str, code: str = "value = 1") -> None:
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    importlib.invalidate_caches()


def test_an_action_runs_after_the_import_and_once(hooks: Path) -> None:
    toy(hooks, "frq_toy_a")
    seen: list[int] = []
    for _ in range(2):
        import_hook.after_import({"frq_toy_a": lambda module: seen.append(module.value)})
    assert (seen, "frq_toy_a" in sys.modules) == ([], False)
    module = importlib.import_module("frq_toy_a")
    assert seen == [1]
    assert module.__loader__ is module.__spec__.loader
    assert not is_ours(module.__loader__)
    importlib.reload(module)
    assert seen == [1, 1]


def test_an_action_runs_at_once_on_what_is_imported(hooks: Path) -> None:
    toy(hooks, "frq_toy_b")
    importlib.import_module("frq_toy_b")
    seen: list[str] = []
    import_hook.after_import({"frq_toy_b": lambda module: seen.append(module.__name__)})
    assert seen == ["frq_toy_b"]


def test_a_failing_action_is_a_warning(hooks: Path) -> None:
    toy(hooks, "frq_toy_c")
    import_hook.after_import({"frq_toy_c": lambda module: module.absent})
    with pytest.warns(UserWarning, match="could not extend 'frq_toy_c'.*absent"):
        assert importlib.import_module("frq_toy_c").value == 1


def test_a_failing_module_fails_as_ever(hooks: Path) -> None:
    toy(hooks, "frq_toy_d", "1 / 0")
    import_hook.after_import({"frq_toy_d": print, "frq_toy_absent": print})
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("frq_toy_d")
    with pytest.raises(ModuleNotFoundError, match="frq_toy_absent"):
        importlib.import_module("frq_toy_absent")


def test_a_half_imported_module_is_let_be(hooks: Path) -> None:
    code = """
import sys
from fashion_rq_bench.hub.import_hook import after_import
after_import({__name__: lambda module: module.later})
later = 1
"""
    toy(hooks, "frq_toy_e", code)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        importlib.import_module("frq_toy_e")


def test_forget_removes_the_finder(hooks: Path) -> None:
    import_hook.after_import({"frq_toy_f": print})
    assert sum(map(is_ours, sys.meta_path)) == 1
    import_hook.forget()
    import_hook.forget()
    assert not any(map(is_ours, sys.meta_path))


# --- mteb -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        "import fashion_rq_bench\nimport mteb",
        "import mteb\nimport fashion_rq_bench",
        "import fashion_rq_bench.mteb_tasks.tasks",
        "from fashion_rq_bench.mteb_tasks import FashionRQRanking",
    ],
    ids=["ours first", "mteb first", "a task first", "a name first"],
)
def test_mteb_knows_the_tasks_whichever_is_imported_first(order: str, tmp_path: Path) -> None:
    code = f"""
import json, warnings
warnings.filterwarnings("error", message=".*could not extend.*")
{order}
import mteb
task = mteb.get_task("FashionRQRanking")
print(json.dumps([task.metadata.name, mteb.get_benchmark("FashionRQBench").name]))
"""
    printed = run_offline(code, tmp_path / "empty")
    assert json.loads(printed.splitlines()[-1]) == ["FashionRQRanking", "FashionRQBench"]
