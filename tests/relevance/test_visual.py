"""Visual grounding with planted vectors: it lifts, never lowers, and is calibrated."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.judged import products_of

from fashion_rq_bench.errors import ConfigError, MetricInputError
from fashion_rq_bench.relevance.images import Calibration, ImageTable, calibrate
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.similarity import LexicalSimilarity
from fashion_rq_bench.schema.domain import domain

PATTERN, TYPE, GENDER = (
    domain().names.index(name) for name in ("pattern", "product_type", "gender")
)


class Prompts:
    """Axis 0 for stripes, axis 1 for the rest."""

    name = "planted"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.seen += texts
        return np.array([[1.0, 0.0] if "striped" in text else [0.0, 1.0] for text in texts])


# Three pictures: stripes, something else, none.
VECTORS = np.array([[0.8, 0.6], [0.0, 1.0], [0.0, 0.0]])
PRODUCTS = products_of(
    *[{"article_type": "Shirts", "pattern": ["solid"], "gender": "Men"} for _ in range(3)]
)


def grounded(intents: list[dict[str, object]], encoder: Prompts | None = None):
    images = ImageTable(VECTORS, encoder or Prompts(), Calibration(0.0, 1.0))
    rows, queries = [0, 1, 2], [0, 0, 0]
    plain = match_pairs(intents, PRODUCTS, queries, rows, LexicalSimilarity())
    seen = match_pairs(intents, PRODUCTS, queries, rows, LexicalSimilarity(), images=images)
    return plain, seen


def test_the_picture_lifts_the_match() -> None:
    encoder = Prompts()
    intents = [{"product_type": "shirt", "pattern": ["striped", "spotted"], "gender": "men"}]
    plain, seen = grounded(intents, encoder)
    text = plain.match[:, PATTERN]
    np.testing.assert_allclose(seen.match[:, PATTERN], [0.8, 1.0, text[2]], rtol=1e-6)
    assert (seen.match >= plain.match)[~np.isnan(plain.match)].all()
    np.testing.assert_array_equal(seen.match[:, GENDER], plain.match[:, GENDER])
    assert sorted(encoder.seen) == ["shirt", "spotted shirt", "striped shirt"]


def test_without_a_product_type_the_value_is_the_prompt() -> None:
    encoder = Prompts()
    grounded([{"pattern": "striped"}], encoder)
    assert encoder.seen == ["striped"]


def test_a_missing_value_recovers_from_the_picture() -> None:
    products = products_of({}, {})
    images = ImageTable(VECTORS[:2], Prompts(), Calibration(0.0, 1.0))
    intents = [{"pattern": "striped"}]
    found = match_pairs(intents, products, [0, 0], [0, 1], LexicalSimilarity(), images=images)
    np.testing.assert_allclose(found.match[:, PATTERN], [0.8, 0.5], rtol=1e-6)
    assert found.missing[:, PATTERN].all()


def test_calibration_stretches_the_band() -> None:
    calibration = calibrate(related=np.linspace(0.2, 0.3, 101), unrelated=[0.1, 0.15, 0.2])
    assert calibration.low == pytest.approx(0.15)
    assert calibration.high == pytest.approx(0.29)
    found = calibration(np.array([0.0, 0.15, 0.22, 0.29, 0.5, np.nan]))
    np.testing.assert_allclose(found, [0.0, 0.0, 0.5, 1.0, 1.0, np.nan])


def test_a_model_that_cannot_tell_is_refused() -> None:
    with pytest.raises(ConfigError, match="rising"):
        calibrate(related=[0.1, 0.1], unrelated=[0.2, 0.3])


def test_shapes_are_checked() -> None:
    with pytest.raises(MetricInputError, match="matrix"):
        ImageTable(np.zeros(3), Prompts(), Calibration(0.0, 1.0))
    with pytest.raises(MetricInputError, match="different length"):
        ImageTable(np.ones((1, 5)), Prompts(), Calibration(0.0, 1.0))(["x"], np.array([0]))
