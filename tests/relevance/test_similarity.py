"""Similarities: tables, encoders, trigrams; refusals; what is encoded how often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.errors import MetricInputError, MissingDependencyError, ModelError
from fashion_rq_bench.relevance.similarity import EncoderSimilarity, LexicalSimilarity, StringTable


class Letters:
    """A tiny encoder: counts of the letters a to e, minus the mean so that signs differ."""

    name = "letters"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.seen += texts
        counts = np.array([[text.count(letter) for letter in "abcde"] for text in texts], float)
        return counts - counts.mean(axis=1, keepdims=True)


def table(strings: Sequence[str], vectors: np.ndarray) -> pa.Table:
    flat = pa.array(vectors.astype(np.float16).ravel())
    return pa.table(
        {
            "string": pa.array(strings, pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
    )


ONE_TWO = table(["x", "y", "minus x"], np.array([[1.0, 0.0], [3.0, 4.0], [-2.0, 0.0]]))


def test_cosines_by_hand() -> None:
    similarity = StringTable(ONE_TWO, "hand")
    found = similarity(["x", "y", "x", "minus x"], ["y", "y", "minus x", "y"])
    np.testing.assert_allclose(found, [0.6, 1.0, 0.0, 0.0])
    assert similarity.encoded == 0


def test_empty_call_and_empty_table() -> None:
    empty = table([], np.zeros((0, 2)))
    assert StringTable(empty, "none")([], []).shape == (0,)
    assert LexicalSimilarity()([], []).shape == (0,)
    assert EncoderSimilarity(Letters())([], []).shape == (0,)


def test_a_string_without_vector_is_refused_by_name() -> None:
    with pytest.raises(MetricInputError, match=r"'silk'.*pip install"):
        StringTable(ONE_TWO, "hand")(["x"], ["silk"])


def test_a_missing_encoder_says_how_to_get_it() -> None:
    def load() -> Letters:
        raise MissingDependencyError("There is no minilm.", fix="pip install it")

    with pytest.raises(MissingDependencyError, match=r"'silk'.*no minilm.*pip install it"):
        StringTable(ONE_TWO, "hand", load)(["x"], ["silk"])


def test_missing_strings_are_encoded_once_and_counted() -> None:
    encoder = Letters()
    known = encoder.encode(["abba", "cede"])
    encoder.seen.clear()
    similarity = StringTable(table(["abba", "cede"], known), "letters", lambda: encoder)
    first = similarity(["abba", "dada", "dada"], ["cede", "abba", "bead"])
    again = similarity(["abba", "dada", "dada"], ["cede", "abba", "bead"])
    np.testing.assert_array_equal(first, again)
    assert encoder.seen == ["bead", "dada"]
    assert similarity.encoded == 2


def test_table_and_encoder_agree_exactly() -> None:
    class Spread(Letters):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts) + np.array([1.1, 0.7, 0.3, 0.9, 0.123])

    words = ["abba", "cede", "bead", "dada", "cab"]
    left, right = words * 5, [word for word in words for _ in words]
    by_encoder = EncoderSimilarity(Spread())
    by_table = StringTable(table(words, Spread().encode(words)), "letters")
    np.testing.assert_array_equal(by_encoder(left, right), by_table(left, right))
    assert by_encoder.encoded == len(words)


def test_many_pairs_equal_one_by_one() -> None:
    rng = np.random.default_rng(0)
    strings = [str(i) for i in range(300)]
    similarity = StringTable(table(strings, rng.standard_normal((300, 32))), "random")
    left = rng.choice(strings, 2500).tolist()
    right = rng.choice(strings, 2500).tolist()
    whole = similarity(left, right)
    single = [similarity([a], [b])[0] for a, b in zip(left[:200], right[:200], strict=True)]
    np.testing.assert_array_equal(whole[:200], single)
    np.testing.assert_array_equal(whole, similarity(right, left))


def test_zero_vectors_are_like_nothing_but_themselves() -> None:
    similarity = StringTable(table(["", "x"], np.array([[0.0, 0.0], [1.0, 0.0]])), "zero")
    np.testing.assert_array_equal(similarity(["", ""], ["x", ""]), [0.0, 1.0])


@pytest.mark.parametrize(
    "bad",
    [
        pa.table({"string": ["x"]}),
        pa.table({"string": ["x"], "vector": pa.array([None], pa.list_(pa.float16(), 2))}),
        table(["x"], np.array([[np.inf, 0.0]])),
    ],
)
def test_bad_tables_are_refused(bad: pa.Table) -> None:
    with pytest.raises(MetricInputError):
        StringTable(bad, "bad")


def test_unequal_lengths_are_refused() -> None:
    for similarity in (StringTable(ONE_TWO, "hand"), LexicalSimilarity()):
        with pytest.raises(MetricInputError, match="one length"):
            similarity(["x"], ["x", "y"])


def test_an_encoder_of_wrong_shape_is_refused() -> None:
    class Wrong(Letters):
        def encode(self, texts: list[str]) -> np.ndarray:
            return np.zeros((1, 2))

    with pytest.raises(ModelError, match="one vector per string"):
        EncoderSimilarity(Wrong())(["a", "b"], ["c", "d"])


def test_an_encoder_needs_a_name() -> None:
    class Nameless:
        def encode(self, texts: list[str]) -> np.ndarray:
            return np.ones((len(texts), 2))

    with pytest.raises(MetricInputError, match="name="):
        EncoderSimilarity(Nameless())
    assert EncoderSimilarity(Nameless(), name="ones@1").name == "ones@1"


def test_a_callable_encoder_is_an_encoder() -> None:
    class Module(Letters):
        def __call__(self) -> None:
            raise AssertionError("must not be called")

    similarity = StringTable(table([], np.zeros((0, 5))), "letters", Module())
    assert similarity(["ab"], ["ab"])[0] == 1.0


def test_dice_by_hand() -> None:
    # " red ": " re", "red", "ed "; " reds ": " re", "red", "eds", "ds " -> 2 · 2 / (3 + 4)
    found = LexicalSimilarity()(["red", "red", "a", "", "RED"], ["reds", "tan", "b", "", "red"])
    np.testing.assert_allclose(found, [4 / 7, 0.0, 0.0, 1.0, 1.0])


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=6))
def test_lexical_is_symmetric_and_bounded(pairs: list[tuple[str, str]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    found = LexicalSimilarity()(left, right)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_array_equal(found, LexicalSimilarity()(right, left))
