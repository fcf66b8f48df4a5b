"""The paper's baselines (Tables 11-13) as records: what is loaded, and how it is run.

In:  a name, such as "splade" or "qwen3-4b", or the Hub id of one of these models.
Out: a :class:`Baseline`.

A record fixes everything that decides a vector. Where the paper leaves a setting open, the model's
own publication decides ("native published configurations", section 5); docs/baselines.md says
where. BM25's record is ``lexical.BM25Config``. The two Marqo models are no rows of the paper's
tables: they are its product embedder and that model's sibling.

A revision is the commit of a Hub repository that public sources pin; None where none could be
verified, and then the caller has to choose one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from fashion_rq_bench.errors import ConfigError

__all__ = [
    "BASELINES",
    "KINDS",
    "Baseline",
    "Dense",
    "Kind",
    "Pooling",
    "Similarity",
    "find_baseline",
]

Kind = Literal["dense", "sparse", "late-interaction", "cross-encoder", "open-clip"]
"""How a model meets a query and a product: by vectors of texts, or by reading both at once."""

Pooling = Literal["mean", "first-last-mean", "pooler", "last-token", "max-log1p-relu", "none"]
"""From token vectors to a text's: "first-last-mean" is the mean over tokens of the mean of the
first and the last layer, "pooler" the model's own pooler_output, "max-log1p-relu" SPLADE's max over
tokens of log(1 + ReLU(MLM logits)), "none" keeps a vector per token."""

Dense = Literal["none", "declared", "tanh"]
"""A projection after pooling, read from the model's folder; with the activation it declares there,
or with tanh."""

Similarity = Literal["cosine", "dot", "maxsim"]
KINDS: tuple[Kind, ...] = ("dense", "sparse", "late-interaction", "cross-encoder", "open-clip")

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Baseline:
    """How one published model is run.

    Attributes:
        name: short name for the command line.
        title: as printed in the paper.
        model: Hub id.
        revision: commit (40 hex digits), or None where none could be verified.
        kind: what it is.
        dim: numbers per vector (per token vector in late interaction).
        max_length: tokens kept of a document, special ones included.
        pooling: from token vectors to the text's.
        query_length: tokens of a query; None for ``max_length``.
        dense: a projection after pooling.
        dtype: of the weights while encoding; comparisons are made in float32 or float64.
        normalize: vectors are divided by their length.
        similarity: how a query's and a product's vectors are compared.
        eos: "tokenizer": whatever the tokenizer adds; "append-once": texts are cut to
            ``max_length`` - 1 tokens and exactly one end-of-sequence token is appended.
        padding_side: where shorter texts of a batch are filled up.
        query_prompt: put before every query, never before a product.
        batch_size: texts per forward pass.
        table: the paper's table; None for a model that stands in none.
    """

    name: str
    title: str
    model: str
    revision: str | None
    kind: Kind
    dim: int
    max_length: int
    pooling: Pooling
    query_length: int | None = None
    dense: Dense = "none"
    dtype: str = "float32"
    normalize: bool = True
    similarity: Similarity = "cosine"
    eos: Literal["tokenizer", "append-once"] = "tokenizer"
    padding_side: Literal["left", "right"] = "right"
    query_prompt: str = ""
    batch_size: int = 32
    table: int | None = None

    def __post_init__(self) -> None:
        if self.revision is not None and not _COMMIT.fullmatch(self.revision):
            raise ConfigError(
                "A baseline is pinned by a commit of 40 hex digits.", given=self.revision
            )
        if self.kind not in KINDS:
            raise ConfigError("There is no such kind of model.", given=self.kind, allowed=KINDS)
        if self.similarity == "cosine" and not self.normalize:
            raise ConfigError("A cosine needs vectors of length 1.", given=self.name)
        if min(self.max_length, self.query_length or 1, self.batch_size, self.dim) < 1:
            raise ConfigError("Lengths, sizes and dimensions are at least 1.", given=self.name)


_TASK = (
    "Given a fashion product search query, retrieve relevant product listings that match the query"
)
_QWEN_PROMPT = f"Instruct: {_TASK}\nQuery:"
_MISTRAL_PROMPT = f"Instruct: {_TASK}\nQuery: "


_LARGE: dict[str, Any] = {
    "kind": "dense",
    "pooling": "last-token",
    "dtype": "bfloat16",
    "batch_size": 8,
    "table": 13,
}
"""What the large decoders of Table 13 share."""

_MISTRAL = {**_LARGE, "dim": 4096, "max_length": 4096, "query_prompt": _MISTRAL_PROMPT}


def _qwen(size: str, dim: int, revision: str) -> Baseline:
    return Baseline(
        name=f"qwen3-{size.lower()}",
        title=f"Qwen3-Embedding-{size}",
        model=f"Qwen/Qwen3-Embedding-{size}",
        revision=revision,
        dim=dim,
        max_length=8192,
        padding_side="left",
        query_prompt=_QWEN_PROMPT,
        **_LARGE,
    )


_RECORDS = (
    Baseline(
        name="splade",
        title="SPLADE++ EnsembleDistil",
        model="naver/splade-cocondenser-ensembledistil",
        revision="49cf4c7b0db5b870a401ddf5e2669993ef3699c7",
        kind="sparse",
        dim=30_522,
        max_length=512,
        pooling="max-log1p-relu",
        normalize=False,
        similarity="dot",
        batch_size=64,
        table=11,
    ),
    Baseline(
        name="colbertv2",
        title="ColBERTv2",
        model="colbert-ir/colbertv2.0",
        revision="c1e84128e85ef755c096a95bdb06b47793b13acf",
        kind="late-interaction",
        dim=128,
        max_length=180,
        pooling="none",
        query_length=32,
        dtype="float16",
        similarity="maxsim",
        batch_size=128,
        table=11,
    ),
    Baseline(
        name="contriever",
        title="Contriever-MSMARCO",
        model="facebook/contriever-msmarco",
        revision="abe8c1493371369031bcb1e02acb754cf4e162fa",
        kind="dense",
        dim=768,
        max_length=512,
        pooling="mean",
        normalize=False,
        similarity="dot",
        table=12,
    ),
    Baseline(
        name="roberta-large",
        title="RoBERTa-large",
        model="FacebookAI/roberta-large",
        revision="722cf37b1afa9454edce342e7895e588b6ff1d59",
        kind="dense",
        dim=1024,
        max_length=512,
        pooling="first-last-mean",
        table=12,
    ),
    Baseline(
        name="simcse",
        title="SimCSE-sup RoBERTa-large",
        model="princeton-nlp/sup-simcse-roberta-large",
        revision="96d164d9950b72f4ce179cb1eb3414de0910953f",
        kind="dense",
        dim=1024,
        max_length=512,
        pooling="pooler",
        table=12,
    ),
    Baseline(
        name="sentence-t5",
        title="Sentence-T5-large",
        model="sentence-transformers/sentence-t5-large",
        revision="1fc08ea477205aa54a3e5b13f0971ae16b86410a",
        kind="dense",
        dim=768,
        max_length=256,
        pooling="mean",
        dense="tanh",
        table=12,
    ),
    _qwen("0.6B", 1024, "b22da495047858cce924d27d76261e96be6febc0"),
    _qwen("4B", 2560, "636cd9bf47d976946cdbb2b0c3ca0cb2f8eea5ff"),
    _qwen("8B", 4096, "4e423935c619ae4df87b646a3ce949610c66241c"),
    Baseline(
        name="e5-mistral",
        title="E5-Mistral-7B-Instruct",
        model="intfloat/e5-mistral-7b-instruct",
        revision="07163b72af1488142a360786df853f237b1a3ca1",
        eos="append-once",
        **_MISTRAL,
    ),
    Baseline(
        name="sfr-mistral",
        title="SFR-Embedding-Mistral",
        model="Salesforce/SFR-Embedding-Mistral",
        revision="938c560d1c236aa563b2dbdf084f28ab28bccb11",
        **_MISTRAL,
    ),
    Baseline(
        name="marqo-fashion-siglip",
        title="Marqo-FashionSigLIP",
        model="Marqo/marqo-fashionSigLIP",
        revision="c56244cc94f92419e8369fa71efdaf403b124ce8",
        kind="open-clip",
        dim=768,
        max_length=64,
        pooling="pooler",
    ),
    Baseline(
        name="marqo-fashion-clip",
        title="Marqo-FashionCLIP",
        model="Marqo/marqo-fashionCLIP",
        revision=None,
        kind="open-clip",
        dim=512,
        max_length=77,
        pooling="pooler",
    ),
)

BASELINES = {record.name: record for record in _RECORDS}
"""Every record by its short name."""

_BY_MODEL = {record.model: record for record in _RECORDS}


def find_baseline(name: str) -> Baseline | None:
    """The record of a short name or of a Hub id; None if there is none."""
    return BASELINES.get(name) or _BY_MODEL.get(name)
