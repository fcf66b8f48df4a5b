"""Optional visual grounding: does the product's picture show what a prompt says (paper 8.0.4).

In:  image vectors of products, an encoder that puts text into the same space (any CLIP-like model).
Out: one number in [0, 1] per (prompt, product), which may lift a match but never lowers it.

Cosines between texts and pictures fill a narrow band (about 0.1 to 0.35 for CLIP-like models), far
below those between texts. Taken raw they would never win the maximum; so they are stretched
linearly: the middle of unrelated pairs becomes 0, the upper end of related pairs 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import ConfigError, MetricInputError
from fashion_rq_bench.relevance.similarity import Encoder, name_of

__all__ = ["Calibration", "ImageSimilarity", "ImageTable", "calibrate", "prompts_of"]

_BLOCK = 1024
_RELATED_QUANTILE = 0.9


class ImageSimilarity(Protocol):
    """How well pictures of products show what prompts say."""

    @property
    def name(self) -> str:
        """What the numbers depend on: model, revision, calibration."""
        ...

    def __call__(
        self, prompts: Sequence[str], product_index: NDArray[np.int64], /
    ) -> NDArray[np.float64]:
        """(U,) score in [0, 1] of ``prompts[i]`` for product ``product_index[i]``, NaN without
        a picture."""
        ...


@dataclass(frozen=True)
class Calibration:
    """Linear map of raw cosines: ``low`` and below becomes 0, ``high`` and above 1.

    Raises:
        ConfigError: unless -1 <= low < high <= 1.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -1.0 <= self.low < self.high <= 1.0:
            raise ConfigError(
                "A calibration needs two rising cosines.", given=(self.low, self.high)
            )

    def __call__(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        """Stretched cosines in [0, 1]; NaN stays NaN."""
        return np.clip((cosines - self.low) / (self.high - self.low), 0.0, 1.0)


def calibrate(related: ArrayLike, unrelated: ArrayLike) -> Calibration:
    """Calibration from raw cosines of prompts with their own and with other products' pictures.

    Args:
        related: cosines of pairs that are known to match (a product's own attribute values).
        unrelated: cosines of the same prompts with random products.

    Returns:
        From the median of the unrelated to the 90th percentile of the related.

    Raises:
        ConfigError: if related pairs are no closer than unrelated ones.
    """
    low = float(np.median(np.asarray(unrelated, dtype=np.float64)))
    high = float(np.quantile(np.asarray(related, dtype=np.float64), _RELATED_QUANTILE))
    return Calibration(low, high)


class ImageTable:
    """Image vectors of products, compared with prompts by calibrated cosine.

    Args:
        vectors: (N, d), row i the picture of product i; a row of zeros or NaN is no picture.
        encoder: turns prompts into vectors of the same space.
        calibration: from :func:`calibrate`, for this model.
        name: what identifies the encoder; by default ``encoder.name``.

    Raises:
        MetricInputError: if the vectors are not a matrix; on a call, if prompts have another
            dimension.
    """

    def __init__(
        self,
        vectors: NDArray[np.floating[Any]],
        encoder: Encoder,
        calibration: Calibration,
        name: str | None = None,
    ) -> None:
        if vectors.ndim != 2:
            raise MetricInputError("Image vectors must be a matrix.", given=vectors.shape)
        self.name = f"{name_of(encoder, name)} [{calibration.low:.4f}, {calibration.high:.4f}]"
        self._vectors = _unit(vectors)
        self._encoder = encoder
        self._calibration = calibration

    def __call__(
        self, prompts: Sequence[str], product_index: NDArray[np.int64], /
    ) -> NDArray[np.float64]:
        """See :class:`ImageSimilarity`; every distinct prompt is encoded once."""
        row = {prompt: place for place, prompt in enumerate(dict.fromkeys(prompts))}
        if not row:
            return np.zeros(0)
        texts = _unit(np.asarray(self._encoder.encode(list(row))))
        if texts.shape[1] != self._vectors.shape[1]:
            raise MetricInputError(
                "Prompts and pictures have vectors of different length.",
                given=texts.shape[1],
                allowed=[self._vectors.shape[1]],
            )
        places = np.array([row[prompt] for prompt in prompts])
        cosines = np.empty(len(places))
        for start in range(0, len(places), _BLOCK):
            block = slice(start, start + _BLOCK)
            one, two = texts[places[block]], self._vectors[product_index[block]]
            cosines[block] = np.einsum("ij,ij->i", one, two, dtype=np.float64)
        return self._calibration(cosines)


def _unit(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Rows of length one; NaN for rows without length."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, np.nan)).astype(np.float32)


def prompts_of(values: Sequence[str], product_type: str | None) -> tuple[str, ...]:
    """Prompts for values of an attribute: "striped" of a query for shirts gives "striped shirt"."""
    return tuple(f"{value} {product_type}" if product_type else value for value in values)
