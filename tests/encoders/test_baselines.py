"""Baselines: each architecture against a computation written out with transformers alone.

The trained weights are not at hand, so weights are random and small. The expected vectors are
computed one text at a time, without padding, in float32.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.scored import write_scored

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders import vectors
from fashion_rq_bench.encoders.baselines import BASELINES, Baseline, find_baseline
from fashion_rq_bench.encoders.by_name import EncoderConfig, load_text_encoder
from fashion_rq_bench.encoders.loading import run_settings
from fashion_rq_bench.encoders.names import folder_kind, parse_name
from fashion_rq_bench.encoders.sentence import SentenceEncoder
from fashion_rq_bench.errors import ConfigError, ModelError
from fashion_rq_bench.evaluation.run import evaluate
from fashion_rq_bench.retrievers.base import Retriever, SearchesCorpus, why_no_search
from fashion_rq_bench.retrievers.block_search import search_blocks, top_columns
from fashion_rq_bench.retrievers.hybrid import Fusion, fuse_ranks, mean_ranks
from fashion_rq_bench.retrievers.late_interaction import TokenVectors, maxsim
from fashion_rq_bench.retrievers.lexical import BM25, BM25Config
from fashion_rq_bench.retrievers.references import Random
from fashion_rq_bench.retrievers.registry import resolve
from fashion_rq_bench.retrievers.sparse import weights_table

torch = pytest.importorskip("torch", reason="needs the build extra")
tiny_models = pytest.importorskip("tests.tiny_models", reason="needs the build extra")

CPU = EncoderConfig(device="cpu")
TEXTS = [
    "blue shirts for men",
    "black jeans",
    "looking for black watches for women. apparel > watches",
    "",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Folder of a small model, written once per module."""
    root = tmp_path_factory.mktemp("models")

    def write(name: str, **settings: Any) -> Path:
        place = root / f"{name}{''.join(map(str, settings.values()))}"
        if not place.exists():
            getattr(tiny_models, name)(place, **settings)
        return place

    return write


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return Collection.read(write_scored(tmp_path_factory.mktemp("tiny") / "edition"))


def in_float32(name: str, path: Path, **changes: Any) -> SentenceEncoder:
    """A record's encoder, in float32 so that the last digits can be compared."""
    record = replace(BASELINES[name], dtype="float32", **changes)
    return SentenceEncoder(path, name, "0", run_settings(record, CPU), record)


def hidden_states(path: Path, text: str, limit: int, *, end: bool = False) -> list[Any]:
    """Layers (T, d) of one text, straight from transformers."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    cls = transformers.AutoModel
    if "t5" in path.name:
        cls = transformers.T5EncoderModel
    model = cls.from_pretrained(path).eval()
    ids = tokenizer(text, truncation=True, max_length=limit - end)["input_ids"]
    ids = torch.tensor([ids + [tokenizer.eos_token_id] * end])
    with torch.no_grad():
        found = model(input_ids=ids, output_hidden_states=True)
    return [*(layer[0] for layer in found.hidden_states), found]


def unit(vector: Any) -> np.ndarray:
    return (vector / vector.norm()).numpy()


def expected(name: str, path: Path, text: str, limit: int) -> np.ndarray:
    """What the paper's table says of a model, written out."""
    layers = hidden_states(path, text, limit, end=name == "e5-mistral")
    *states, output = layers
    last = output.last_hidden_state[0]
    if name == "contriever":
        return last.mean(dim=0).numpy()
    if name == "roberta-large":
        return unit(((states[1] + last) / 2).mean(dim=0))
    if name == "simcse":
        return unit(output.pooler_output[0])
    if name == "sentence-t5":
        from safetensors.torch import load_file

        weight = load_file(path / "2_Dense" / "model.safetensors")["linear.weight"]
        return unit(torch.tanh(weight @ last.mean(dim=0)))
    return unit(last[-1])


ARCHITECTURES = {
    "contriever": ("bert", {}),
    "roberta-large": ("roberta", {}),
    "simcse": ("roberta", {}),
    "sentence-t5": ("sentence_t5", {}),
    "qwen3-0.6b": ("qwen", {}),
    "e5-mistral": ("mistral", {"appends_end": False}),
    "sfr-mistral": ("mistral", {"appends_end": True}),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_documents_are_what_transformers_gives(name: str, folder: Callable[..., Path]) -> None:
    model, settings = ARCHITECTURES[name]
    path = folder(model, **settings)
    found = in_float32(name, path).encode(TEXTS, "document")
    for vector, text in zip(found, TEXTS, strict=True):
        assert vector == pytest.approx(expected(name, path, text, 512), abs=2e-5)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_long_texts_are_cut(name: str, folder: Callable[..., Path]) -> None:
    model, settings = ARCHITECTURES[name]
    path = folder(model, **settings)
    text = " ".join(tiny_models.words())
    short = in_float32(name, path, max_length=9)
    assert short.model.max_seq_length == 9
    assert short.model.preprocess([text, "a"])["input_ids"].shape == (2, 9)
    found = short.encode([text, "blue"], "document")
    assert found[0] == pytest.approx(expected(name, path, text, 9), abs=2e-5)
    assert found[0] != pytest.approx(expected(name, path, text, 10), abs=1e-3)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_prompt_stands_before_queries_only(name: str, folder: Callable[..., Path]) -> None:
    model, settings = ARCHITECTURES[name]
    path = folder(model, **settings)
    prompt = BASELINES[name].query_prompt
    assert bool(prompt) == (BASELINES[name].table == 13)
    found = in_float32(name, path).encode(TEXTS[:2], "query")
    for vector, text in zip(found, TEXTS[:2], strict=True):
        assert vector == pytest.approx(expected(name, path, prompt + text, 512), abs=2e-5)


def test_the_paper_s_prompt_is_the_task_of_the_published_template() -> None:
    sentence = "Given a fashion product search query, retrieve relevant product listings that match"
    assert BASELINES["qwen3-4b"].query_prompt == f"Instruct: {sentence} the query\nQuery:"
    assert BASELINES["e5-mistral"].query_prompt == f"Instruct: {sentence} the query\nQuery: "
    assert BASELINES["sfr-mistral"].query_prompt == BASELINES["e5-mistral"].query_prompt


@pytest.mark.parametrize(("name", "side"), [("qwen3-0.6b", 0), ("sfr-mistral", -1)])
def test_padding_stands_on_the_record_s_side(
    name: str, side: int, folder: Callable[..., Path]
) -> None:
    model, settings = ARCHITECTURES[name]
    features = in_float32(name, folder(model, **settings)).model.preprocess(TEXTS[:3])
    mask = features["attention_mask"]
    assert (mask.sum(dim=1) < mask.shape[1]).tolist() == [True, True, False]
    assert mask[0, side] == 0
    assert mask[0, -1 - side] == 1


@pytest.mark.parametrize("appends_end", [False, True])
def test_e5_ends_in_exactly_one_end_token(appends_end: bool, folder: Callable[..., Path]) -> None:
    path = folder("mistral", appends_end=appends_end)
    model = in_float32("e5-mistral", path, max_length=6).model
    features = model.preprocess([TEXTS[2], "blue shirts", ""], prompt="query ")
    end = model.tokenizer.eos_token_id
    lengths = features["attention_mask"].sum(dim=1).tolist()
    rows = [row[:n] for row, n in zip(features["input_ids"].tolist(), lengths, strict=True)]
    assert lengths == [6, 5, 3]  # begin, prompt, words, end
    assert [row.count(end) for row in rows] == [1, 1, 1]
    assert [row[-1] for row in rows] == [end] * 3


def test_the_records_lengths_and_dtypes_reach_the_model(folder: Callable[..., Path]) -> None:
    for name, (model, settings) in ARCHITECTURES.items():
        record = BASELINES[name]
        encoder = load_text_encoder(f"{name}:{folder(model, **settings)}", CPU)
        assert isinstance(encoder, SentenceEncoder)
        assert encoder.model.max_seq_length == record.max_length
        assert str(next(encoder.model.parameters()).dtype) == f"torch.{record.dtype}"
        assert encoder.similarity == record.similarity


def test_bfloat16_is_near_float32(folder: Callable[..., Path]) -> None:
    path = folder("qwen")
    half = load_text_encoder(f"qwen3-0.6b:{path}", CPU).encode(TEXTS)
    assert half.dtype == np.float32
    cosines = (half * in_float32("qwen3-0.6b", path).encode(TEXTS)).sum(axis=1)
    assert (cosines > 0.99).all()


def test_sentence_t5_s_projection_is_tanh_by_the_record(folder: Callable[..., Path]) -> None:
    path = folder("sentence_t5")
    tanh = in_float32("sentence-t5", path).encode(TEXTS)
    declared = in_float32("sentence-t5", path, dense="declared").encode(TEXTS)
    own = load_text_encoder(f"dense:{path}", CPU).encode(TEXTS)
    assert declared == pytest.approx(own, abs=2e-5)
    assert np.abs(tanh - declared).max() > 0.01


def test_a_projection_that_is_not_there(folder: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match=r"modules\.json lists 0"):
        in_float32("contriever", folder("bert"), dense="tanh").encode(["blue"])


def test_open_clip_runs_marqo_s_models_without_their_code(folder: Callable[..., Path]) -> None:
    path = folder("open_clip")
    import open_clip
    from PIL import Image

    assert folder_kind(path) == "open-clip"
    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{path}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{path}")
    photo = Image.new("RGB", (40, 60), (200, 10, 10))
    with torch.no_grad():
        texts = model.eval().encode_text(tokenizer(TEXTS), normalize=True).numpy()
        image = model.encode_image(transform(photo)[None], normalize=True).numpy()
    encoder = load_text_encoder(f"marqo-fashion-siglip:{path}", CPU)
    assert encoder.encode(TEXTS) == pytest.approx(texts, abs=1e-6)
    assert encoder.encode_images([photo, photo])[1] == pytest.approx(image[0], abs=1e-6)


@pytest.mark.parametrize("error", [TypeError("no such thing"), RuntimeError("out of memory")])
def test_whatever_a_model_raises_names_it(
    error: Exception,
    folder: Callable[..., Path],
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    retriever = resolve(f"contriever:{folder('bert')}", config=CPU)

    def stops(*items: Any, **settings: Any) -> Any:
        raise error

    monkeypatch.setattr(retriever._encoder.model, "encode_document", stops)
    words = rf"^bert failed while encoding: {type(error).__name__}: {error}\. .*is kept"
    with pytest.raises(ModelError, match=words):
        retriever.score(collection)


# sparse, late interaction, cross-encoders


def pairs_of(collection: Collection, count: int = 40) -> list[tuple[int, str, str]]:
    pairs = collection.pairs
    some = np.linspace(0, len(pairs.query_index) - 1, count).astype(int)
    texts = collection.texts.to_pylist()
    return [
        (row, pairs.queries[pairs.query_index[row]], texts[pairs.product_index[row]])
        for row in some
    ]


def loaded(path: Path, cls: str) -> tuple[Any, Any]:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    return tokenizer, getattr(transformers, cls).from_pretrained(path).eval()


@pytest.mark.parametrize("prefix", ["splade", "sparse"])
def test_splade_is_log_of_one_plus_the_greatest_logit(
    prefix: str, folder: Callable[..., Path], collection: Collection
) -> None:
    path = folder("splade")
    tokenizer, model = loaded(path, "AutoModelForMaskedLM")

    def weights(text: str) -> Any:
        with torch.no_grad():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        return torch.log1p(torch.relu(logits)).max(dim=0).values.double()

    scores = resolve(f"{prefix}:{path}", config=CPU).score(collection)
    for row, query, text in pairs_of(collection):
        assert scores[row] == pytest.approx(float(weights(query) @ weights(text)), rel=1e-5)


def colbert_vectors(path: Path, text: str, role: str) -> Any:
    """A text's token vectors as ColBERT's paper has them, without padding."""
    import transformers
    from safetensors.torch import load_file

    weights = load_file(path / "model.safetensors")
    config = transformers.BertConfig.from_pretrained(path)
    model = transformers.BertModel(config).eval()
    encoder = {k.removeprefix("bert."): v for k, v in weights.items() if k.startswith("bert.")}
    model.load_state_dict(encoder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    marker = tokenizer.convert_tokens_to_ids("[unused0]" if role == "query" else "[unused1]")
    limit = 32 if role == "query" else 180
    inner = tokenizer(text, add_special_tokens=False)["input_ids"][: limit - 3]
    ids = [tokenizer.cls_token_id, marker, *inner, tokenizer.sep_token_id]
    seen = len(ids)
    if role == "query":
        ids += [tokenizer.mask_token_id] * (limit - seen)
    mask = torch.tensor([[1] * seen + [0] * (len(ids) - seen)])  # [MASK]s are not attended to
    with torch.no_grad():
        hidden = model(torch.tensor([ids]), attention_mask=mask).last_hidden_state[0]
    tokens = torch.nn.functional.normalize(hidden @ weights["linear.weight"].T, dim=1)
    if role == "document":
        points = {tokenizer.convert_tokens_to_ids(sign) for sign in string.punctuation}
        tokens = tokens[[number not in points for number in ids]]
    return tokens


def test_colbert_is_maxsim_of_32_query_and_180_document_tokens(
    folder: Callable[..., Path], collection: Collection
) -> None:
    path = folder("colbert")
    retriever = resolve(f"colbertv2:{path}", config=CPU)
    model = retriever._model
    assert str(next(model.parameters()).dtype) == "torch.float16"
    model.float()  # the record's half precision would hide a wrong token
    scores = retriever.score(collection)
    assert scores.dtype == np.float64
    for row, query, text in pairs_of(collection, 12):
        dots = colbert_vectors(path, query, "query") @ colbert_vectors(path, text, "document").T
        assert scores[row] == pytest.approx(float(dots.max(dim=1).values.sum()), rel=1e-5)


def test_colbert_s_record_decides_the_lengths(folder: Callable[..., Path]) -> None:
    path = folder("colbert")  # its own configuration says 20 and 300
    long = " ".join(tiny_models.words() * 20)
    for name, query, document in [("colbertv2", 32, 180), ("late-interaction", 20, 300)]:
        model = resolve(f"{name}:{path}", config=CPU)._model.float()
        assert model.encode_query([long, "blue"])[1].shape == (query, 16)
        features = model.preprocess([long], prompt=model.prompts["document"], task="document")
        assert features["input_ids"].shape == (1, document)


def test_colbert_in_half_precision_is_near(
    folder: Callable[..., Path], collection: Collection
) -> None:
    path = folder("colbert")
    half = resolve(f"colbertv2:{path}", config=CPU).score(collection)
    whole = resolve(f"late-interaction:{path}", config=CPU)
    whole._model[0].query_expansion = {"strategy": "fixed", "length": 32, "attend": False}
    assert half == pytest.approx(whole.score(collection), rel=0.02)


def test_a_cross_encoder_reads_both_texts(
    folder: Callable[..., Path], collection: Collection
) -> None:
    path = folder("cross_encoder")
    tokenizer, model = loaded(path, "AutoModelForSequenceClassification")
    retriever = resolve(str(path), config=CPU)  # its configuration says what it is
    scores = retriever.score(collection)
    for row, query, text in pairs_of(collection, 20):
        with torch.no_grad():
            logit = model(**tokenizer(query, text, return_tensors="pt")).logits[0, 0]
        assert scores[row] == pytest.approx(float(torch.sigmoid(logit)), abs=1e-5)


def test_a_cross_encoder_skips_the_whole_corpus(folder: Callable[..., Path]) -> None:
    retriever = resolve(f"cross-encoder:{folder('cross_encoder')}")
    assert not isinstance(retriever, SearchesCorpus)
    assert "skips the whole corpus: a cross-encoder reads every pair" in str(
        why_no_search(retriever)
    )
    assert why_no_search(resolve("bm25")) is None
    with pytest.raises(ConfigError, match="skips the whole corpus"):
        Fusion("both", (BM25(), retriever)).search(None, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("prefix", "model", "part"),
    [("cross-encoder", "bert", "classifier"), ("simcse", "headless", "pooler")],
)
def test_a_head_that_would_be_random_is_refused(
    prefix: str, model: str, part: str, folder: Callable[..., Path], collection: Collection
) -> None:
    retriever = resolve(f"{prefix}:{folder(model)}", config=CPU)
    with pytest.raises(ModelError, match=rf"lack {part}\..*would be random"):
        retriever.score(collection)


def test_a_classifier_of_three_classes_is_refused(
    folder: Callable[..., Path], collection: Collection
) -> None:
    path = folder("cross_encoder", outputs=3)
    with pytest.raises(ModelError, match="one score"):
        resolve(f"cross-encoder:{path}", config=CPU).score(collection)


def test_maxsim_by_hand() -> None:
    query = np.array([[1, 0], [0, 1]], dtype=np.float32)
    rows = np.array([[1, 0], [0.5, 0.5], [0, -1]], dtype=np.float32)
    products = TokenVectors(rows, np.array([0, 2, 2, 3]))
    assert maxsim(query, products).tolist() == [1.5, 0.0, -1.0]
    turned = products.take(np.array([2, 0, 0]))
    assert maxsim(query, turned).tolist() == [-1.0, 1.5, 1.5]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["splade", "colbert", "cross_encoder"])
def test_mteb_scores_the_same(
    model: str, folder: Callable[..., Path], collection: Collection
) -> None:
    """The other door: mteb's own wrappers around the same classes."""
    import mteb
    import sentence_transformers

    from fashion_rq_bench.mteb_tasks.search import score_model

    kind, cls = {
        "splade": ("sparse", "SparseEncoder"),
        "colbert": ("late-interaction", "MultiVectorEncoder"),
        "cross_encoder": ("cross-encoder", "CrossEncoder"),
    }[model]
    path = folder(model)
    ours = resolve(f"{kind}:{path}", config=CPU).score(collection)
    loaded = getattr(sentence_transformers, cls)(str(path), device="cpu")
    wrapped, *_ = mteb.evaluate.__globals__["_sanitize_model"](loaded)
    task = mteb.get_benchmark("FashionRQBench").tasks[0]
    theirs = score_model(wrapped, collection, task.metadata, {"batch_size": 32})
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


# names


def test_the_kind_is_read_from_a_folder(folder: Callable[..., Path], tmp_path: Path) -> None:
    kinds = {
        "bert": "dense",
        "sentence_t5": "dense",
        "splade": "dense",  # a bare masked language model could be anything
        "colbert": "late-interaction",
        "cross_encoder": "cross-encoder",
    }
    assert {model: folder_kind(folder(model)) for model in kinds} == kinds
    for declared, kind in [("SparseEncoder", "sparse"), ("MultiVectorEncoder", "late-interaction")]:
        place = tmp_path / declared
        place.mkdir()
        config = place / "config_sentence_transformers.json"
        config.write_text(json.dumps({"model_type": declared}), encoding="utf-8")
        assert folder_kind(place) == kind
    modules = tiny_models.sentence_modules("MLMTransformer", "SpladePooling")
    (tmp_path / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    assert folder_kind(tmp_path) == "sparse"


def test_a_damaged_configuration_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"config\.json cannot be read"):
        resolve(str(tmp_path))


def test_what_names_mean(tmp_path: Path) -> None:
    def meaning(name: str) -> tuple[object, ...] | None:
        found = parse_name(name)
        record = found and found.baseline and found.baseline.name
        return found and (found.kind, found.source, record, found.revision)

    commit = "0" * 40
    splade = "naver/splade-cocondenser-ensembledistil"
    assert meaning("splade") == meaning(splade) == ("sparse", splade, "splade", None)
    assert meaning("owner/model") == ("dense", "owner/model", None, None)
    assert meaning(f"owner/model@{commit}") == ("dense", "owner/model", None, commit)
    assert meaning("cross-encoder:a/b@v1") == ("cross-encoder", "a/b", None, "v1")
    assert meaning(f"dense:{splade}") == ("dense", splade, None, None)
    assert meaning(f"e5-mistral:{tmp_path}") == ("dense", str(tmp_path), "e5-mistral", None)
    colon = tmp_path / "sparse:not"
    colon.mkdir()
    assert meaning(str(colon)) == ("dense", str(colon), None, None)
    for nothing in ("minlm", "spars:a/b", "sparse:nowhere", "/no/folder", ""):
        assert meaning(nothing) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("contreiver", "Did you mean 'contriever'"),
        ("colbert", "Did you mean 'colbertv2'"),
        ("cross-encodr:a/b", "Did you mean 'cross-encoder'"),
        ("cross-encoder:nowhere", "no folder or Hub model of this name to run as cross-encoder"),
        ("rrf:bm25+minlm", "Did you mean 'minilm'"),
        ("rrf:bm25", "at least two"),
    ],
)
def test_wrong_names_are_told_what_is_right(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        resolve(name)


def test_a_hub_model_of_another_kind_says_how_to_name_it(
    folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    path = str(folder("cross_encoder"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **settings: path)
    with pytest.raises(ModelError, match="cross-encoder:owner/model"):
        _ = resolve("owner/model").identity
    assert resolve("cross-encoder:owner/model").identity.startswith("cross-encoder owner/model@")


def test_a_record_is_downloaded_at_its_commit(
    folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[tuple[str, str]] = []

    def download(name: str, **settings: Any) -> str:
        asked.append((name, settings["revision"]))
        return str(folder("bert"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    record = BASELINES["contriever"]
    assert resolve("contriever").identity.startswith("facebook/contriever-msmarco@")
    _ = resolve("contriever:someone/copy@v2").identity
    assert asked == [(record.model, record.revision), ("someone/copy", "v2")]


def test_a_record_without_a_verified_commit_asks_for_one() -> None:
    with pytest.raises(ConfigError, match="marqo-fashion-clip:Marqo/marqo-fashionCLIP@COMMIT"):
        load_text_encoder("marqo-fashion-clip")


def test_a_download_without_safetensors_says_what_to_do(
    folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda name, **settings: str(tmp_path)
    )
    with pytest.raises(ModelError, match="no weights as safetensors"):
        load_text_encoder("contriever")


# records


def test_every_row_of_the_tables_is_there() -> None:
    def rows(table: int) -> dict[str, tuple[object, ...]]:
        return {
            record.name: (record.dim, record.pooling, record.max_length, record.dtype)
            for record in BASELINES.values()
            if record.table == table
        }

    assert rows(11) == {
        "splade": (30_522, "max-log1p-relu", 512, "float32"),
        "colbertv2": (128, "none", 180, "float16"),
    }
    assert (BM25Config().k1, BM25Config().b) == (1.2, 0.75)
    assert rows(12) == {
        "contriever": (768, "mean", 512, "float32"),
        "roberta-large": (1024, "first-last-mean", 512, "float32"),
        "simcse": (1024, "pooler", 512, "float32"),
        "sentence-t5": (768, "mean", 256, "float32"),
    }
    assert rows(13) == {
        "qwen3-0.6b": (1024, "last-token", 8192, "bfloat16"),
        "qwen3-4b": (2560, "last-token", 8192, "bfloat16"),
        "qwen3-8b": (4096, "last-token", 8192, "bfloat16"),
        "e5-mistral": (4096, "last-token", 4096, "bfloat16"),
        "sfr-mistral": (4096, "last-token", 4096, "bfloat16"),
    }
    assert (BASELINES["splade"].batch_size, BASELINES["colbertv2"].batch_size) == (64, 128)
    assert BASELINES["colbertv2"].query_length == 32
    once = [name for name, record in BASELINES.items() if record.eos == "append-once"]
    assert once == ["e5-mistral"]
    assert find_baseline("colbert-ir/colbertv2.0") is BASELINES["colbertv2"]
    assert all(record.revision for record in BASELINES.values() if record.table)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"revision": "main"}, "40 hex digits"),
        ({"kind": "magic"}, "no such kind"),
        ({"normalize": False, "similarity": "cosine"}, "length 1"),
        ({"max_length": 0}, "at least 1"),
    ],
)
def test_records_are_checked(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(BASELINES["contriever"], **changes)


def test_a_record_s_settings_win_and_device_and_permission_are_the_caller_s() -> None:
    record: Baseline = BASELINES["qwen3-8b"]
    mine = EncoderConfig(device="cpu", dtype="float16", trust_remote_code=True, query_prompt="q ")
    found = run_settings(record, mine)
    assert (found.device, found.trust_remote_code) == ("cpu", True)
    assert (found.dtype, found.query_prompt) == (record.dtype, record.query_prompt)
    assert run_settings(None, mine) is mine


# hybrids


def test_mean_ranks_by_hand() -> None:
    scores = np.array([0.1, 0.9, 0.5, 0.5, 3.0, 7.0])
    groups = np.array([4, 4, 4, 4, 1, 1])
    assert mean_ranks(scores, groups).tolist() == [4.0, 1.0, 2.5, 2.5, 2.0, 1.0]
    assert mean_ranks(np.array([]), np.array([], dtype=np.int64)).tolist() == []


def test_reciprocal_rank_fusion_by_hand() -> None:
    one = np.array([9.0, 5.0, 1.0])  # ranks 1, 2, 3
    two = np.array([0.2, 0.8, 0.2])  # ranks 2.5, 1, 2.5
    found = fuse_ranks([one, two], np.zeros(3, dtype=np.int64))
    assert found == pytest.approx([1 / 61 + 1 / 62.5, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62.5])


def test_a_hybrid_sees_only_orders(collection: Collection) -> None:
    class Scaled(BM25):
        def score(self, collection: Collection) -> np.ndarray:
            return 100 * super().score(collection) - 7

    plain = Fusion("a", (BM25(), Random())).score(collection)
    assert (plain == Fusion("b", (Scaled(), Random())).score(collection)).all()
    assert resolve("rrf:bm25+random").identity.startswith("rrf(k=60")
    assert (resolve("rrf:bm25+random").score(collection) == plain).all()


# the whole corpus


def test_top_columns_by_hand() -> None:
    scores = np.array([[1.0, 3.0, 3.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    assert top_columns(scores, 2).tolist() == [[1, 2], [0, 1]]
    assert top_columns(scores, 5).tolist() == [[1, 2, 4, 3, 0], [0, 1, 2, 3, 4]]


def test_search_in_blocks_is_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    from fashion_rq_bench.retrievers import block_search as search

    monkeypatch.setattr(search, "_NUMBERS", 100)
    rng = np.random.default_rng(0)
    scores, text_of = rng.integers(0, 6, (17, 20)).astype(float), rng.integers(0, 20, 30)
    found = search_blocks(lambda part: scores[part], 17, text_of, 8)
    whole = scores[:, text_of]
    assert (found.product_index == np.argsort(-whole, axis=1, kind="stable")[:, :8]).all()
    assert (found.scores == np.take_along_axis(whole, found.product_index, axis=1)).all()


def searchers(folder: Callable[..., Path]) -> dict[str, Retriever]:
    names = ["bm25", "random", "lsa", f"contriever:{folder('bert')}", f"splade:{folder('splade')}"]
    names += [f"late-interaction:{folder('colbert')}", "rrf:bm25+lsa"]
    return {name: resolve(name, config=CPU) for name in names}


def test_a_search_finds_what_scoring_every_pair_finds(
    folder: Callable[..., Path], collection: Collection
) -> None:
    """All pairs of the tiny edition as one pool, against the search of its corpus."""
    queries, products = len(collection.pairs.queries), len(collection.product_ids)
    q, p = np.divmod(np.arange(queries * products), products)
    everything = replace(collection.pairs, query_index=q, product_index=p, rows={})
    whole = Collection(collection.edition, collection.product_ids, collection.texts, {})
    whole.__dict__["pairs"] = everything
    for name, retriever in searchers(folder).items():
        assert isinstance(retriever, SearchesCorpus), name
        scores = retriever.score(whole).reshape(queries, products)
        found = retriever.search(whole, 10)
        there = np.take_along_axis(scores, found.product_index, axis=1)
        best = -np.sort(-scores, axis=1)[:, :10]
        assert found.scores == pytest.approx(best, rel=1e-6), name
        assert there == pytest.approx(best, rel=1e-6), name


def test_a_search_encodes_what_the_pools_have_not(
    folder: Callable[..., Path], collection: Collection, tmp_path: Path
) -> None:
    some = Collection(
        collection.edition,
        collection.product_ids,
        collection.texts,
        {task: pool for task, pool in collection.pools.items() if task == "sibling"},
    )
    retriever = resolve(f"contriever:{folder('bert')}", config=CPU, cache=tmp_path)
    retriever.score(some)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert isinstance(retriever, SearchesCorpus)
    retriever.search(some, 5)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert before.items() <= after.items()
    assert len(after) == len(before) + (len(some.pairs.products) < len(some.product_ids))


# one path for all


def test_all_kinds_run_through_evaluate(
    folder: Callable[..., Path], collection: Collection, tmp_path: Path
) -> None:
    names = [f"sparse:{folder('splade')}", f"colbertv2:{folder('colbert')}"]
    names += [str(folder("cross_encoder")), f"simcse:{folder('roberta')}", "rrf:bm25+lsa"]
    result = evaluate(names, collection.edition, out=tmp_path, config=CPU)
    assert [run.key.model for run in result.runs][: len(names)] == names
    assert len({run.key.model_id for run in result.runs}) == len(names) + 2
    again = evaluate(names, collection.edition, out=tmp_path, config=CPU)
    assert all(run.reused for run in again.runs)


@pytest.mark.parametrize(
    "kind", ["sparse:splade", "late-interaction:colbert", "cross-encoder:cross_encoder"]
)
def test_a_crash_keeps_finished_shards(
    kind: str,
    folder: Callable[..., Path],
    collection: Collection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectors, "SHARD", 10)
    prefix, model = kind.split(":")
    name = f"{prefix}:{folder(model)}"
    whole = resolve(name, config=CPU).score(collection)
    broken = resolve(name, config=CPU, cache=tmp_path)
    method = "predict" if prefix == "cross-encoder" else "encode_document"
    calls, run = [], getattr(broken._model, method)

    def stops(items: list[Any], **settings: Any) -> Any:
        if len(calls) == 2:
            raise RuntimeError("CUDA out of memory")
        calls.append(items)
        return run(items, **settings)

    monkeypatch.setattr(broken._model, method, stops)
    with pytest.raises(ModelError, match=r"out of memory.*smaller batch_size.*finished is kept"):
        broken.score(collection)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert len(kept) >= 2
    again = resolve(name, config=CPU, cache=tmp_path).score(collection)
    assert (again == whole).all()
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())


def test_values_that_are_not_finite_are_refused(
    folder: Callable[..., Path], collection: Collection
) -> None:
    for name in ("sparse:splade", "late-interaction:colbert", "cross-encoder:cross_encoder"):
        prefix, model = name.split(":")
        retriever = resolve(f"{prefix}:{folder(model)}", config=CPU)
        with torch.no_grad():
            for weight in retriever._model.parameters():
                weight.fill_(float("nan"))
        with pytest.raises(ModelError, match="not finite"):
            retriever.score(collection)


def test_too_few_rows_are_refused() -> None:
    nothing = np.array([], dtype=np.int64)
    with pytest.raises(ModelError, match="3 texts and returned 2 rows"):
        weights_table("bad", 3, (2, 9), nothing, nothing, np.array([], dtype=np.float32))
    from fashion_rq_bench.retrievers.late_interaction import _tokens_table

    with pytest.raises(ModelError, match="2 texts and returned 1 matrices"):
        _tokens_table("bad", 2, [np.ones((3, 4), np.float32)])
    with pytest.raises(ModelError, match="different lengths"):
        _tokens_table("bad", 2, [np.ones((3, 4), np.float32), np.ones((3, 5), np.float32)])
