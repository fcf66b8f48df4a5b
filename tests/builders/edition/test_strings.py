"""The strings table: which strings, which vectors, and reuse of earlier ones."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from helpers.planted import planted

from fashion_rq_bench.builders.edition.string_vectors import KnownStrings, compared_strings, strings
from fashion_rq_bench.builders.tasks.candidate_pools import draw_pools, pool_pairs
from fashion_rq_bench.builders.tasks.config import TaskConfig
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.similarity import StringTable
from fashion_rq_bench.schema.tables import strings_schema


class HashEncoder:
    """Vectors from a hash of the text, of length 3; counts what it encodes."""

    name, revision, dim, identity = "hash", "1", 16, "hash@1"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts, role="document"):
        self.seen += texts
        rows = [np.frombuffer(hashlib.sha512(t.encode()).digest()[:16], np.uint8) for t in texts]
        raw = np.array(rows, dtype=np.float32).reshape(-1, 16) - 128
        return 3 * raw / np.linalg.norm(raw, axis=1, keepdims=True)

    def encode_images(self, images):
        raise NotImplementedError


@pytest.fixture(scope="module")
def built():
    world = planted(0, 600, (3, 3, 4))
    pools = draw_pools(
        world.ids,
        world.codes,
        np.arange(len(world.ids)),
        world.clusters,
        world.queries,
        TaskConfig(),
    )
    encoder = HashEncoder()
    return world, pools, encoder, strings(world.catalog, world.queries, pools, encoder)


def test_rows_are_sorted_unique_unit_vectors(built):
    *_, table = built
    assert table.schema == strings_schema(16)
    found = table["string"].to_pylist()
    assert found == sorted(set(found))
    vectors = np.asarray(table["vector"].combine_chunks().flatten(), np.float64).reshape(-1, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=2e-3)


def test_vectors_are_those_of_their_strings(built):
    *_, table = built
    encoder = HashEncoder()
    for row in table.slice(0, 20).to_pylist():
        expected = encoder.encode([row["string"]])[0] / 3
        np.testing.assert_allclose(np.float64(row["vector"]), expected, atol=1e-3)


def test_values_and_category_paths_of_the_whole_catalog_are_there(built):
    world, _, _, table = built
    found = set(table["string"].to_pylist())
    assert {"black", "white", "blue", "red"} <= found
    assert any(" > " in text for text in found)
    asked = {
        intent["product_type"] for row in world.queries["intents"].to_pylist() for intent in row
    }
    assert len(asked) > 1
    assert set(compared_strings(world.catalog, world.queries, built[1])) == found


def test_no_comparison_in_the_pools_needs_a_model(built):
    world, pools, _, table = built
    used, query_index, product_index = pool_pairs(pools)
    similarity = StringTable(table, "hash")
    matches = match_pairs(
        pools.queries["intents"], world.catalog.take(used), query_index, product_index, similarity
    )
    assert len(matches) == len(query_index)
    assert similarity.encoded == 0


def test_descriptions_stand_in_where_a_value_is_missing(built):
    """Without base colours, the queries that ask for one compare with descriptions."""
    world, pools, _, table = built
    row = world.catalog.schema.get_field_index("base_color")
    bare = world.catalog.set_column(row, "base_color", pa.nulls(len(world.catalog), pa.string()))
    found = compared_strings(bare, world.queries, pools)
    assert not any(text.lower().startswith("a black") for text in table["string"].to_pylist())
    assert any(text.lower().startswith("a black") for text in found)


def test_each_string_is_encoded_once(built):
    _, _, encoder, table = built
    assert sorted(encoder.seen) == table["string"].to_pylist()


def test_known_vectors_are_taken_over_byte_for_byte(built):
    world, pools, _, table = built
    kept = table.slice(0, len(table) // 2)
    moved = pa.table(
        {"string": kept["string"], "vector": kept["vector"].take(np.arange(len(kept))[::-1])},
        schema=table.schema,
    )
    encoder = HashEncoder()
    known = KnownStrings(moved, {"name": "hash", "revision": "1"})
    again = strings(world.catalog, world.queries, pools, encoder, reuse=known)
    assert again.slice(0, len(kept)).equals(moved.combine_chunks())
    assert again.slice(len(kept)).equals(table.slice(len(kept)))
    assert sorted(encoder.seen) == table["string"].to_pylist()[len(kept) :]


@pytest.mark.parametrize("declared", [{"name": "hash", "revision": "2"}, {"name": "other"}, {}])
def test_vectors_of_another_encoder_are_not_taken_over(built, declared):
    world, pools, _, table = built
    encoder = HashEncoder()
    again = strings(
        world.catalog, world.queries, pools, encoder, reuse=KnownStrings(table, declared)
    )
    assert again.equals(table)
    assert len(encoder.seen) == len(table)


def test_a_text_without_a_vector_stays_zero(built):
    class Silent(HashEncoder):
        def encode(self, texts, role="document"):
            return np.zeros((len(texts), 16), dtype=np.float32)

    world, pools, *_ = built
    table = strings(world.catalog, world.queries, pools, Silent())
    assert not np.asarray(table["vector"].combine_chunks().flatten(), np.float32).any()
