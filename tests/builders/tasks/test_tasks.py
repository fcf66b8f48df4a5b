"""Pools, their tables and every invariant of the four tasks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.planted import planted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.hierarchy.clusters import hierarchy
from fashion_rq_bench.builders.hierarchy.prefix_tree import Tree, hash_ids, mix, salts
from fashion_rq_bench.builders.tasks.anchor_order import stratified_order
from fashion_rq_bench.builders.tasks.candidate_pools import (
    TaskConfig,
    draw_pools,
    grades_from_codes,
    ragged_take,
)
from fashion_rq_bench.builders.tasks.invariants import check_tasks
from fashion_rq_bench.builders.tasks.stage import tasks
from fashion_rq_bench.builders.tasks.twin_products import twins
from fashion_rq_bench.errors import BuildError, ConfigError
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.similarity import LexicalSimilarity
from fashion_rq_bench.report.tables.paper import paper
from fashion_rq_bench.report.tables.statistics import labels
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import (
    SEMANTIC_IDS,
    TASK_CONFIGS,
    catalog_schema,
    queries_schema,
    schema_of,
)
from fashion_rq_bench.support.files import to_json


def draw(world, config=None, codes=None, keep=None):
    groups = twins(world.catalog, world.catalog["title"].combine_chunks())
    if keep is None:
        keep = np.arange(len(world.catalog))
    return draw_pools(
        world.ids.take(keep),
        (world.codes if codes is None else codes)[keep],
        groups[keep],
        world.clusters,
        world.queries,
        config or TaskConfig(),
    )


def by_anchor(pools, ids):
    """prefix -> {product id: grade}, and query id -> {product id: target}."""
    names = np.array(ids.to_pylist())
    ranking = {
        tuple(prefix): dict(
            zip(names[pools.products[a:b]], pools.grades[a:b].tolist(), strict=True)
        )
        for prefix, a, b in zip(
            pools.prefixes.tolist(), pools.offsets[:-1], pools.offsets[1:], strict=True
        )
    }
    queries = np.array(pools.queries["query_id"].to_pylist())[pools.sibling_queries]
    sibling = {
        query: dict(
            zip(names[pools.sibling_products[a:b]], pools.targets[a:b].tolist(), strict=True)
        )
        for query, a, b in zip(
            queries, pools.sibling_offsets[:-1], pools.sibling_offsets[1:], strict=True
        )
    }
    return ranking, sibling


# ---------------------------------------------------------------- grades


@pytest.mark.parametrize(
    ("anchor", "product", "grade"),
    [
        ([1, 2, 3], [1, 2, 3], 3),
        ([1, 2, 3], [1, 2, 4], 2),
        ([1, 2, 3], [1, 5, 3], 1),
        ([1, 2, 3], [7, 2, 3], 0),
        ([1, 2, 3, 4], [1, 2, 3, 4], 3),
        ([1, 2, 3, 4], [1, 2, 3, 0], 2),
        ([1, 2, 3, 4], [1, 2, 0, 4], 1),
        ([1, 2, 3, 4], [1, 0, 3, 4], 1),
        ([1, 2, 3, 4], [0, 2, 3, 4], 0),
    ],
)
def test_grade_is_read_off_the_shared_prefix(anchor, product, grade):
    assert grades_from_codes(np.array([anchor]), np.array([product])).tolist() == [grade]


# ---------------------------------------------------------------- pools


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    products=st.integers(60, 700),
    branching=st.sampled_from([(2, 2, 3), (3, 3, 5), (4, 2, 8), (3, 2, 2, 4)]),
    duplicates=st.sampled_from([0.0, 0.3, 0.9]),
)
def test_pools_hold_their_invariants_on_random_trees(seed, products, branching, duplicates):
    world = planted(seed % 1000, products, branching, duplicates=duplicates)
    config = TaskConfig(seed=seed)
    try:
        pools = draw(world, config)
    except BuildError:
        return
    code = dict(zip(world.ids.to_pylist(), map(tuple, world.codes.tolist()), strict=True))
    title = dict(zip(world.ids.to_pylist(), world.catalog["title"].to_pylist(), strict=True))
    ranking, sibling = by_anchor(pools, world.ids)
    for prefix, pool in ranking.items():
        assert 12 <= len(pool) <= 15
        assert list(pool) == sorted(pool)
        assert len({title[product].lower() for product in pool}) == len(pool)
        for product, grade in pool.items():
            shared = next((i for i in range(len(prefix)) if code[product][i] != prefix[i]), None)
            expected = {None: 3, len(prefix) - 1: 2, 0: 0}.get(shared, 1)
            assert grade == expected
        counts = np.bincount(list(pool.values()), minlength=4)
        assert counts[3] >= 1
        assert (counts <= [4, 4, 4, 3]).all()
    small = np.add.reduceat(pools.in_classification, pools.offsets[:-1])
    assert ((small == 7) | (small == 8)).all()
    for pool in sibling.values():
        assert 4 <= len(pool) <= 5
        assert sum(pool.values()) == 1
        leaves = {code[product] for product in pool}
        assert len(leaves) == len(pool)
        assert len({leaf[:-1] for leaf in leaves}) == 1
        assert len({title[product].lower() for product in pool}) == len(pool)


def test_a_twin_of_a_better_tier_is_never_drawn():
    """Every sibling of the anchor is a twin of an Exact product, save those of one leaf."""
    world = planted(3, 900, duplicates=0.0)
    codes = world.codes
    anchor = codes[0]
    exact = np.flatnonzero((codes == anchor).all(axis=1))
    siblings = np.flatnonzero((codes[:, :2] == anchor[:2]).all(axis=1) & (codes[:, 2] != anchor[2]))
    groups = np.arange(len(codes))
    groups[siblings[5:]] = exact[0]
    tree = Tree.build(codes, groups, hash_ids(world.ids.to_pylist()))
    salt = salts(0, anchor.tolist(), 1)[0]
    found = tree.candidates(int(exact[0]), 2, 3, salt, None)
    assert set(found.tolist()) == set(siblings[:5].tolist())
    assert len(tree.candidates(int(exact[0]), 3, None, salt, None)) == len(exact)


def test_a_seed_gives_the_same_pools_and_another_seed_others():
    world = planted(1)
    first, again, other = (by_anchor(draw(world, TaskConfig(seed=s)), world.ids) for s in (5, 5, 6))
    assert first == again
    assert first[0].keys() == other[0].keys()
    assert first != other


def test_the_order_of_the_catalog_does_not_matter():
    world = planted(2)
    shuffled = np.random.default_rng(0).permutation(len(world.catalog))
    plain = draw(world)
    mixed = draw(world, keep=shuffled)
    assert by_anchor(plain, world.ids) == by_anchor(mixed, world.ids.take(shuffled))


def test_changing_one_cluster_leaves_every_other_pool_untouched():
    """One leaf loses half its products: only pools that held one of them change."""
    world = planted(4, 3000, (4, 4, 6))
    before, before_sibling = by_anchor(draw(world), world.ids)
    leaf = world.codes[0]
    members = np.flatnonzero((world.codes == leaf).all(axis=1))
    gone = members[: len(members) // 2]
    keep = np.setdiff1d(np.arange(len(world.catalog)), gone)
    gone_ids = set(world.ids.take(gone).to_pylist())
    after, after_sibling = by_anchor(draw(world, keep=keep), world.ids.take(keep))
    assert before.keys() == after.keys()
    touched = {prefix for prefix in before if before[prefix] != after[prefix]}
    assert touched == {prefix for prefix in before if gone_ids & before[prefix].keys()}
    for prefix in touched:
        assert len(before[prefix].keys() - after[prefix].keys() - gone_ids) <= len(gone_ids)
    for query in before_sibling:
        if not gone_ids & before_sibling[query].keys():
            assert before_sibling[query] == after_sibling[query]


def test_moving_a_product_changes_only_pools_it_leaves_or_enters():
    world = planted(5, 3000, (4, 4, 6), duplicates=0.0)
    codes = world.codes.copy()
    moved = int(np.flatnonzero((codes == codes[0]).all(axis=1))[0])
    codes[moved] = (3, 3, 0)
    before, _ = by_anchor(draw(world), world.ids)
    after, _ = by_anchor(draw(world, codes=codes), world.ids)
    product = world.ids[moved].as_py()
    for prefix in before:
        if product not in before[prefix] and product not in after[prefix]:
            assert before[prefix] == after[prefix]


def test_other_queries_of_an_anchor_do_not_change_a_pool():
    world = planted(6)
    fewer = world.queries.filter(
        np.array([not name.endswith(".1") for name in world.queries["query_id"].to_pylist()])
    )
    less = type(world)(world.catalog, world.semantic_ids, world.clusters, fewer)
    all_ranking, all_sibling = by_anchor(draw(world), world.ids)
    ranking, sibling = by_anchor(draw(less), world.ids)
    assert ranking == all_ranking
    assert sibling == {query: all_sibling[query] for query in sibling}
    assert 0 < len(sibling) < len(all_sibling)


def test_every_product_of_a_tier_has_the_same_chance():
    """Inclusion counts over seeds agree with a uniform draw (chi-square, five sigma)."""
    ids = [f"p{i}" for i in range(3000)]
    codes = np.zeros((3000, 3), dtype=np.int64)
    codes[:, 0] = np.arange(3000) % 3
    tree = Tree.build(codes, np.arange(3000), hash_ids(ids))
    drawn = np.concatenate(
        [tree.candidates(0, 0, 1, salts(seed, (0, 0, 0), 1)[0], 4)[:4] for seed in range(2500)]
    )
    counts = np.bincount(drawn, minlength=3000)
    assert counts[codes[:, 0] == 0].sum() == 0
    others = counts[codes[:, 0] != 0]
    expected = others.sum() / 2000
    chi_square = ((others - expected) ** 2 / expected).sum()
    assert abs(chi_square - 1999) < 5 * np.sqrt(2 * 1999)


@pytest.mark.parametrize("seed", range(8))
def test_a_window_without_candidates_is_widened(seed):
    """A leaf that is nearly its whole parent leaves three siblings among 9,000 products."""
    codes = np.zeros((9000, 3), dtype=np.int64)
    codes[[7, 700, 1500], 2] = 1
    tree = Tree.build(codes, np.arange(9000), hash_ids(f"p{i}" for i in range(9000)))
    found = tree.candidates(0, 2, 3, salts(seed, (0, 0, 0), 1)[0], 3)
    assert sorted(found.tolist()) == [7, 700, 1500]


def test_targets_of_an_anchor_differ_between_queries():
    world = planted(7, queries=8)
    _, sibling = by_anchor(draw(world), world.ids)
    targets: dict[str, set[str]] = {}
    for query, pool in sibling.items():
        target = next(product for product, is_target in pool.items() if is_target)
        targets.setdefault(query.split(".")[0], set()).add(target)
    assert max(map(len, targets.values())) > 3


# ---------------------------------------------------------------- anchors


def test_what_is_no_anchor_is_counted_by_reason():
    world = planted(8, 2000)
    leaves = int((np.asarray(world.clusters["level"]) == 3).sum())
    some = world.queries.filter(
        np.array([not name.startswith("q0-0-0.") for name in world.queries["query_id"].to_pylist()])
    )
    less = type(world)(world.catalog, world.semantic_ids, world.clusters, some)
    pools = draw(less, TaskConfig(max_anchors=10))
    counts = pools.counts
    assert counts["qualifying_leaves"] == leaves
    assert counts["anchors"] == len(pools.prefixes) == 10
    assert counts["not_anchors"]["no query"] == 1
    assert counts["anchors"] + sum(counts["not_anchors"].values()) == leaves


def test_an_anchor_whose_pool_is_short_is_left_out():
    """Leaves that are alone in their level-2 node have no Sibling: 3 + 0 + 4 + 4 is under 12."""
    world = planted(9, 900, (3, 4, 1))
    with pytest.raises(BuildError, match="T1 pool under 12"):
        draw(world)


def test_too_few_sibling_leaves_skip_t3_and_are_counted():
    world = planted(10, 900, (3, 3, 3))
    pools = draw(world)
    assert len(pools.sibling_queries) == 0
    assert pools.counts["without_sibling_task"] == {"under 3 sibling leaves": len(pools.prefixes)}


def test_a_task_without_queries_is_refused():
    no_siblings = planted(10, 900, (3, 3, 3))
    with pytest.raises(BuildError, match=r"T3\) has no query"):
        build(no_siblings)
    with pytest.raises(BuildError, match=r"T4\) has no group"):
        build(planted(10, 900, queries=1))


def test_anchors_of_one_branch_draw_different_products():
    pools = draw(planted(13, 3000, (3, 3, 6)))
    spans = zip(pools.offsets[:-1], pools.offsets[1:], strict=True)
    far = [tuple(pools.products[a:b][pools.grades[a:b] == 0].tolist()) for a, b in spans]
    assert len(set(far)) == len(far)


def test_two_levels_are_refused():
    world = planted(11)
    with pytest.raises(ConfigError, match="three levels"):
        draw(world, codes=world.codes[:, :2])


def test_queries_of_unknown_clusters_are_refused():
    world = planted(12)
    fewer = world.clusters.filter(np.arange(len(world.clusters)) != len(world.clusters) - 1)
    with pytest.raises(BuildError, match="do not qualify"):
        draw(type(world)(world.catalog, world.semantic_ids, fewer, world.queries))


@pytest.mark.parametrize(
    "bad",
    [
        {"ranking": (0, 4, 4, 4)},
        {"classification": (4, 2, 2, 2)},
        {"min_ranking": 16},
        {"min_classification": 9},
        {"min_distractors": 5},
        {"max_anchors": 0},
        {"seed": -1},
    ],
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(ConfigError):
        TaskConfig(**bad)


# ---------------------------------------------------------------- strata


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=80))
def test_samples_are_nested_proportional_and_hold_every_label(labels):
    keys = mix(np.arange(len(labels), dtype=np.uint64))
    order = stratified_order(labels, keys)
    assert sorted(order.tolist()) == list(range(len(labels)))
    kinds = sorted(set(labels))
    total = np.array([labels.count(kind) for kind in kinds])
    for size in range(1, len(labels) + 1):
        chosen = [labels[place] for place in order[:size]]
        seats = np.array([chosen.count(kind) for kind in kinds])
        if size < len(kinds):
            assert seats.max() == 1
            assert total[seats == 1].min() >= total[seats == 0].max()
        else:
            assert seats.min() >= 1


def test_seats_follow_the_method_of_equal_proportions():
    """8 a, 3 b, 1 c: first one each, then 8/√2 = 5.7, 8/√6 = 3.3, 8/√12 = 2.3, 3/√2 = 2.1, …"""
    labels = list("aaaaaaaabbbc")
    order = stratified_order(labels, mix(np.arange(12, dtype=np.uint64)))
    assert "".join(labels[place] for place in order[:8]) == "abcaaab" + "a"


# ---------------------------------------------------------------- small parts


def test_ragged_take_repeats_and_reorders_lists():
    positions, offsets = ragged_take(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert positions.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert offsets.tolist() == [0, 3, 5, 5, 8]


def test_hashes_are_the_same_everywhere():
    """Values by hashlib's own integers and by SplitMix64 in Python's arithmetic."""
    assert hash_ids(["a", "é"]).tolist() == [3405396810240292928, 3394012004367669963]
    assert mix(np.array([1, 2**64 - 1], dtype=np.uint64)).tolist() == [
        6238072747940578789,
        13029008266876403067,
    ]


# ---------------------------------------------------------------- tables


@pytest.fixture(scope="module")
def world():
    return planted(20, 1500, (3, 3, 6))


@pytest.fixture(scope="module")
def built(world):
    return build(world)


def build(world, config=None):
    parts = (world.catalog, world.semantic_ids, world.clusters, world.queries)
    return tasks(*parts, LexicalSimilarity(), config)


def tables_of(built):
    return {name: getattr(built, name) for name in TASK_CONFIGS}


def test_tables_have_their_schemas_and_fit_together(world, built):
    for name, table in tables_of(built).items():
        assert table.schema.equals(schema_of(name))
        assert len(table)
    ranking = {row["query_id"]: row for row in built.ranking.to_pylist()}
    grades = {
        query: {item["product_id"]: item["grade"] for item in row["candidates"]}
        for query, row in ranking.items()
    }
    pairs = built.classification.to_pylist()
    assert {pair["query_id"] for pair in pairs} == ranking.keys()
    for pair in pairs:
        assert grades[pair["query_id"]][pair["product_id"]] == pair["label"]
        assert pair["query"] == ranking[pair["query_id"]]["query"]
    for row in built.sibling.to_pylist():
        assert row["query"] == ranking[row["query_id"]]["query"]
        assert row["prefix"] == ranking[row["query_id"]]["prefix"]
    for group in built.paraphrase.to_pylist():
        assert group["group_id"] == "-".join(map(str, group["prefix"]))
        pool = {item["product_id"]: item["grade"] for item in group["candidates"]}
        assert len(group["queries"]) >= 2
        for query in group["queries"]:
            assert grades[query["query_id"]] == pool
            assert ranking[query["query_id"]]["query"] == query["query"]


def test_pools_are_ordered_by_product_id_so_that_order_tells_nothing(built):
    for table in (built.ranking, built.sibling, built.paraphrase):
        for row in table.to_pylist():
            ids = [item["product_id"] for item in row["candidates"]]
            assert ids == sorted(ids)
    pairs = built.classification.to_pylist()
    keys = [(pair["query_id"], pair["product_id"]) for pair in pairs]
    first = {query: place for place, (query, _) in reversed(list(enumerate(keys)))}
    assert keys == sorted(keys, key=lambda key: (first[key[0]], key[1]))


def test_match_is_the_relevance_of_the_pair(world, built):
    row = built.ranking.slice(7, 1).to_pylist()[0]
    ids = world.ids.to_pylist()
    rows = [ids.index(item["product_id"]) for item in row["candidates"]]
    matches = match_pairs(
        [row["intents"]], world.catalog, [0] * len(rows), rows, LexicalSimilarity()
    )
    stated = [item["match"] for item in row["candidates"]]
    np.testing.assert_allclose(stated, np.round(matches.rel, 4), atol=1e-7)
    labelled = {
        pair["product_id"]: pair["match"]
        for pair in built.classification.to_pylist()
        if pair["query_id"] == row["query_id"]
    }
    by_id = {item["product_id"]: item["match"] for item in row["candidates"]}
    assert labelled == {product: by_id[product] for product in labelled}


def test_a_query_without_attributes_has_no_match_and_is_counted(world):
    rows = world.queries.to_pylist()
    silent = next(row for row in rows if row["level"] == 3)
    silent["intents"] = [dict.fromkeys(domain().names)]
    queries = pa.Table.from_pylist(rows, schema=queries_schema())
    built = build(type(world)(world.catalog, world.semantic_ids, world.clusters, queries))
    by_query = {row["query_id"]: row["candidates"] for row in built.ranking.to_pylist()}
    pool = by_query[silent["query_id"]]
    assert all(np.isnan(item["match"]) for item in pool)
    assert built.report["pairs_without_match"] == len(pool)


def test_the_same_input_gives_the_same_tables(world, built):
    again = build(world)
    for name, table in tables_of(built).items():
        assert table.equals(getattr(again, name))
    assert to_json(again.report) == to_json(built.report)


def test_a_smaller_sample_of_anchors_lies_inside_a_larger_one(world, built):
    small, large = (build(world, TaskConfig(max_anchors=n)) for n in (8, 20))
    rows = {row["query_id"]: row for row in built.ranking.to_pylist()}
    small_ids, large_ids = (set(t.ranking["query_id"].to_pylist()) for t in (small, large))
    assert small_ids < large_ids < rows.keys()
    assert len(small.paraphrase) == 8
    for row in small.ranking.to_pylist():
        assert row == rows[row["query_id"]]


def test_an_anchor_with_a_single_query_is_in_no_group(world):
    lonely = "-".join(map(str, draw(world).prefixes[0].tolist()))
    drop = {f"q{lonely}.1", f"q{lonely}.2"}
    keep = [name not in drop for name in world.queries["query_id"].to_pylist()]
    queries = world.queries.filter(np.array(keep))
    found = build(type(world)(world.catalog, world.semantic_ids, world.clusters, queries))
    assert f"q{lonely}.0" in found.ranking["query_id"].to_pylist()
    assert lonely not in found.paraphrase["group_id"].to_pylist()
    assert found.report["anchors"]["without_paraphrases"] == {"a single query": 1}
    assert len(found.paraphrase) == found.report["anchors"]["anchors"] - 1


def test_levels_beyond_three_keep_four_grades():
    world = planted(21, 3000, (3, 2, 3, 4))
    built = build(world)
    code = dict(zip(world.ids.to_pylist(), world.codes.tolist(), strict=True))
    seen = set()
    for row in built.ranking.to_pylist():
        for item in row["candidates"]:
            same = [a == b for a, b in zip(row["prefix"], code[item["product_id"]], strict=True)]
            shared = same.index(False) if False in same else 4
            assert item["grade"] == {4: 3, 3: 2, 2: 1, 1: 1, 0: 0}[shared]
            seen.add(shared)
    assert seen == {0, 1, 2, 3, 4}


# ---------------------------------------------------------------- invariants


def changed(table, change):
    rows = table.to_pylist()
    change(rows)
    return pa.Table.from_pylist(rows, schema=table.schema)


def swap_first(field, value):
    def change(rows):
        rows[0][field] = value

    return change


def _double_product(rows):
    rows[0]["candidates"][1] = rows[0]["candidates"][0]


def _dangling(rows):
    rows[0]["candidates"][0]["product_id"] = "nobody"


def _wrong_grade(rows):
    item = rows[0]["candidates"][0]
    item["grade"] = 3 - item["grade"]


def _no_exact(rows):
    for row in rows:
        if row["prefix"] == rows[0]["prefix"]:
            row["candidates"] = [item for item in row["candidates"] if item["grade"] != 3]


def _too_few(rows):
    for row in rows:
        if row["prefix"] == rows[0]["prefix"]:
            row["candidates"] = [item for item in row["candidates"] if item["grade"] != 1]


def _other_pool(rows):
    rows[0]["candidates"] = [i for i in rows[0]["candidates"] if i["grade"]] + [
        i for i in rows[0]["candidates"] if not i["grade"]
    ][1:]


def _two_targets(rows):
    rows[0]["candidates"] = rows[0]["candidates"][:4]
    for item in rows[0]["candidates"]:
        item["target"] = True


def _no_target(rows):
    rows[0]["candidates"] = [item for item in rows[0]["candidates"] if not item["target"]]


def _lost_distractors(rows):
    targets = [item for item in rows[0]["candidates"] if item["target"]]
    rows[0]["candidates"] = targets + [i for i in rows[0]["candidates"] if not i["target"]][:2]


def _lost_query(rows):
    rows[0]["queries"] = rows[0]["queries"][1:]


def _foreign_query(rows):
    rows[0]["queries"], rows[1]["queries"] = rows[1]["queries"], rows[0]["queries"]


def _lost_pair(rows):
    query = rows[0]["query_id"]
    del rows[next(i for i, row in enumerate(rows) if row["query_id"] == query)]
    del rows[next(i for i, row in enumerate(rows) if row["query_id"] == query)]


def _repeated_query_id(rows):
    rows[1]["query_id"] = rows[0]["query_id"]


def _wrong_label(rows):
    rows[0]["label"] = 3 - rows[0]["label"]


def _lost_all_pairs_of_a_query(rows):
    query = rows[0]["query_id"]
    rows[:] = [row for row in rows if row["query_id"] != query]


@pytest.mark.parametrize(
    ("config", "change", "rule"),
    [
        ("ranking", _double_product, "a product stands twice"),
        ("ranking", _dangling, "a product id names nothing"),
        ("ranking", _wrong_grade, "not the one that the semantic IDs give"),
        ("ranking", _no_exact, "no Exact product"),
        ("ranking", _too_few, "fewer than 12"),
        ("ranking", _other_pool, "different pools"),
        ("ranking", _repeated_query_id, "a query id stands twice"),
        ("ranking", swap_first("query_id", "p00000"), "a query id is a product id"),
        ("classification", swap_first("query_id", "q?"), "a query id names nothing"),
        ("classification", swap_first("product_id", "p?"), "a product id names nothing"),
        ("classification", _wrong_label, "not the one that the semantic IDs give"),
        ("classification", _lost_pair, "fewer than 7"),
        ("classification", _lost_all_pairs_of_a_query, "no T2 pool"),
        ("sibling", _two_targets, "a target is no Exact product"),
        ("sibling", _no_target, "not exactly one target"),
        ("sibling", _lost_distractors, "holds not 4–5"),
        ("sibling", _double_product, "a product stands twice"),
        ("sibling", swap_first("query_id", "q?"), "a query id names nothing"),
        ("paraphrase", _lost_query, "not in exactly one group"),
        ("paraphrase", _foreign_query, "another anchor or pool"),
        ("paraphrase", _wrong_grade, "not the one that the semantic IDs give"),
    ],
)
def test_a_broken_table_is_refused_with_the_rule_and_ids(world, built, config, change, rule):
    tables = tables_of(built) | {config: changed(getattr(built, config), change)}
    with pytest.raises(BuildError, match=rule) as caught:
        check_tasks(tables, world.catalog, world.semantic_ids, TaskConfig())
    assert isinstance(caught.value.given, list)
    assert caught.value.given


def test_a_product_from_outside_the_t1_pool_is_refused(world, built):
    """The stranger has the right grade, so only its absence from the T1 pool tells."""
    row = built.ranking.slice(0, 1).to_pylist()[0]
    pool = {item["product_id"] for item in row["candidates"]}
    far = world.codes[:, 0] != row["prefix"][0]
    stranger = next(i for i in np.array(world.ids.to_pylist())[far] if i not in pool)

    def change(rows):
        pair = next(r for r in rows if r["query_id"] == row["query_id"] and r["label"] == 0)
        pair["product_id"] = str(stranger)

    tables = tables_of(built) | {"classification": changed(built.classification, change)}
    with pytest.raises(BuildError, match="not in the query's T1 pool"):
        check_tasks(tables, world.catalog, world.semantic_ids, TaskConfig())


def test_two_distractors_of_one_leaf_are_refused(world, built):
    row = built.sibling.slice(0, 1).to_pylist()[0]
    codes = dict(zip(world.ids.to_pylist(), world.codes.tolist(), strict=True))
    names = dict(zip(world.ids.to_pylist(), world.catalog["title"].to_pylist(), strict=True))
    distractors = [i["product_id"] for i in row["candidates"] if not i["target"]]
    twin_leaf = next(
        product
        for product, code in codes.items()
        if code == codes[distractors[0]]
        and product not in distractors
        and names[product] not in {names[i["product_id"]] for i in row["candidates"]}
    )

    def change(rows):
        place = next(i for i in rows[0]["candidates"] if i["product_id"] == distractors[1])
        place["product_id"] = twin_leaf

    tables = tables_of(built) | {"sibling": changed(built.sibling, change)}
    with pytest.raises(BuildError, match="two products are of one leaf"):
        check_tasks(tables, world.catalog, world.semantic_ids, TaskConfig())


def test_more_products_per_tier_than_asked_for_are_refused(world, built):
    config = TaskConfig(ranking=(3, 4, 4, 3))
    with pytest.raises(BuildError, match="a tier holds more than"):
        check_tasks(tables_of(built), world.catalog, world.semantic_ids, config)


def test_equal_products_under_two_grades_are_refused(world, built):
    """Give an Irrelevant candidate the row of an Exact one: the tree still says 0 and 3."""
    pool = built.ranking["candidates"][0].as_py()
    one, other = (next(i["product_id"] for i in pool if i["grade"] == g) for g in (3, 0))
    rows = {row["product_id"]: row for row in world.catalog.to_pylist()}
    rows[other] = rows[one] | {"product_id": other, "description": "Another text."}
    catalog = pa.Table.from_pylist(list(rows.values()), schema=world.catalog.schema)
    check_tasks(tables_of(built), world.catalog, world.semantic_ids, TaskConfig())
    with pytest.raises(BuildError, match="same title and attributes"):
        check_tasks(tables_of(built), catalog, world.semantic_ids, TaskConfig())


# ---------------------------------------------------------------- twins


def test_twins_share_title_and_attributes_or_text():
    """1 differs from 0 in case and season; 2 has the text of 1 but another tier; 3 is alone."""
    catalog = planted(0, 4, (1, 1, 1)).catalog.to_pylist()
    first = catalog[0] | {"title": "Arvo  Blue Shirt", "pattern": ["solid", "plain"]}
    rows = [
        first,
        first | {"title": "arvo blue shirt ", "description": None, "season": "Fall"},
        first | {"price_tier": "premium"},
        first | {"pattern": ["solid"]},
    ]
    table = pa.Table.from_pylist(rows, schema=catalog_schema())
    found = twins(table, pa.array(["a", "Same", "same", "d"]))
    assert found.tolist() == [found[0]] * 3 + [found[3]]
    assert found[0] != found[3]


def test_a_null_and_an_empty_value_are_not_twins_by_accident():
    rows = planted(0, 2, (1, 1, 1)).catalog.to_pylist()
    rows = [
        rows[0] | {"brand": "a", "base_color": None},
        rows[0] | {"brand": None, "base_color": "a"},
    ]
    found = twins(pa.Table.from_pylist(rows, schema=catalog_schema()), pa.array(["x", "y"]))
    assert found[0] != found[1]


# ---------------------------------------------------------------- the real catalog


@pytest.mark.data
@pytest.mark.slow
def test_pools_over_the_real_catalog(shared_data):
    """Leaves of (master category, article type, colour): thousands of twins, none in one pool."""
    catalog = read_catalog(shared_data / "myntra-catalog.parquet").table
    columns = [catalog[name] for name in ("master_category", "article_type", "base_color")]
    codes = [
        np.asarray(column.combine_chunks().dictionary_encode(null_encoding="encode").indices)
        for column in columns
    ]
    matrix = np.stack(codes, axis=1).astype(np.uint16)
    semantic_ids = pa.table(
        {"product_id": catalog["product_id"], "semantic_id": list(matrix)}, schema=SEMANTIC_IDS
    )
    clusters = hierarchy(semantic_ids, catalog).clusters
    leaves = clusters.filter(pc.and_(clusters["qualifying"], pc.equal(clusters["level"], 3)))
    queries = [
        {"query_id": f"{key}.{n}", "query": key, "prefix": prefix, "level": 3, "source": "test"}
        for prefix in leaves["prefix"].to_pylist()
        for key in ["-".join(map(str, prefix))]
        for n in range(2)
    ]
    asked = pa.Table.from_pylist(
        [row | {"intents": [{"product_type": "shirt"}]} for row in queries], schema=queries_schema()
    )
    groups = twins(catalog, product_text(catalog))
    assert 30_000 < len(np.unique(groups)) < 40_000
    made = tasks(catalog, semantic_ids, clusters, asked, LexicalSimilarity())
    assert made.report["anchors"]["anchors"] > 800
    shares = labels(tables_of(made))["ranking"]
    for grade, share in paper()["labels"]["ranking"].items():
        assert shares[grade] == pytest.approx(share, abs=0.02)
