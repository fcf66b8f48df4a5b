"""What a text encoder is, how it is set, and what is asked of its vectors.

In:  texts, with the role of a query or of a document.
Out: the :class:`TextEncoder` protocol, its :class:`EncoderConfig`, and checks that refuse vectors
     that cannot be ranked by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import ConfigError, FashionRQError, ModelError

__all__ = [
    "EncoderConfig",
    "Role",
    "TextEncoder",
    "Vectors",
    "check_vectors",
    "model_errors",
    "text_only",
    "unit_rows",
]

Role = Literal["query", "document"]
Vectors = NDArray[np.float32]

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


@contextmanager
def model_errors(name: str, doing: str) -> Iterator[None]:
    """Turn whatever a model raises into a ModelError that names it and what it was doing."""
    try:
        yield
    except FashionRQError:
        raise
    except Exception as error:  # a model's own code may raise anything
        memory = "memory" in str(error).casefold()
        raise ModelError(
            f"{name} failed while {doing}: {type(error).__name__}: {error}".rstrip(". ") + ".",
            fix="Try a smaller batch_size or another device; what is finished is kept."
            if memory
            else "What is finished is kept: the same command goes on from there.",
        ) from error


def text_only(name: str) -> ConfigError:
    """The error for pictures given to an encoder of texts."""
    return ConfigError(
        "This encoder reads text only.",
        given=name,
        fix="For images name a CLIP-like model, for example openai/clip-vit-base-patch32.",
    )
