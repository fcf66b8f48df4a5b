"""What an edition's queries are and how far they can be followed, beside plain ones (issue 5).

In:  a built edition.
Out: a Markdown page: lengths, attributes, what the verifier finds, the attribute oracle on the
     edition's own T1 and T2 pools for its queries and for plain ones ("blue shirts for men"), the
     same by number of wishes and by product type, the leaves that the catalog cannot tell apart,
     and twenty queries drawn at random.

Both kinds of queries are measured in the same run, on the same anchors, pools and similarity.
Without intervals: one edition, one seed.

    python scripts/study/queries.py --edition FOLDER --out docs/study/queries.md
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.hierarchy.clusters import code_matrix
from fashion_rq_bench.builders.queries.check.verify import verify
from fashion_rq_bench.builders.queries.say.candidate_wishes import wish_incidence
from fashion_rq_bench.builders.queries.say.lexicon import type_forms
from fashion_rq_bench.builders.queries.say.planning import Source
from fashion_rq_bench.builders.queries.say.wish_sets import PrefixIndex, WishSpace
from fashion_rq_bench.builders.tasks.candidate_pools import Pools, pool_pairs, ragged_take
from fashion_rq_bench.builders.tasks.reference_scores import reference
from fashion_rq_bench.builders.tasks.stage import TaskConfig, candidate_pools
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.measures.ranking import ndcg
from fashion_rq_bench.relevance.intents import expressed
from fashion_rq_bench.relevance.pair_relevance import PairMatches, match_pairs
from fashion_rq_bench.relevance.satisfaction import oracle_scores
from fashion_rq_bench.relevance.similarity import StringTable
from fashion_rq_bench.report.tables.describe import describe
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.schema.tables import catalog_schema, queries_schema
from fashion_rq_bench.support import settings as _config
from fashion_rq_bench.support.files import write_text

Facts = dict[str, Any]
FEWEST = 30
"""Queries that a product type must have to stand in a table of its own."""


# ---------------------------------------------------------------- plain queries


def plain_queries(
    corpus: pa.Table, codes: npt.NDArray[np.int64], leaves: list[list[int]]
) -> pa.Table:
    """Two wordings per leaf of its dominant colour, product type and gender."""
    index = PrefixIndex(codes)
    rows = []
    for leaf in leaves:
        products = corpus.take(index.members(leaf))
        kind, color, person = (_dominant(products, role) for role in ("type", "color", "person"))
        said = {"type": kind, "color": color, "person": person}
        intent = {
            one.name: [said[one.role].casefold()] if one.many else said[one.role].casefold()
            for one in domain().attributes
            if said.get(one.role)
        }
        many = type_forms(kind).many[0]
        text = " ".join(filter(None, [color.lower(), many, person and f"for {person.lower()}"]))
        for place, words in enumerate((text, f"looking for {text}")):
            rows.append(
                {
                    "query_id": f"p{'-'.join(map(str, leaf))}.{place}",
                    "query": words,
                    "prefix": leaf,
                    "level": len(leaf),
                    "intents": [{**dict.fromkeys(domain().names), **intent}],
                    "source": "plain",
                }
            )
    return pa.Table.from_pylist(rows, schema=queries_schema())


def _dominant(products: pa.Table, role: str) -> str:
    """The commonest value of the attribute of a role; "" where there is none."""
    one = domain().role(role)
    counts = Counter(value for value in products[one.column].to_pylist() if value) if one else {}
    return min(counts, key=lambda value: (-counts[value], value)) if counts else ""


# ---------------------------------------------------------------- measuring


class Bench:
    """An edition's catalog, hierarchy and similarity, on which any queries can be measured."""

    def __init__(self, edition: Edition) -> None:
        self.corpus = edition.table("corpus").combine_chunks()
        self.catalog = self.corpus.select(catalog_schema().names)
        self.ids = self.corpus.select(["product_id", "semantic_id"])
        self.codes = code_matrix(self.ids, self.catalog)
        self.clusters = edition.table("clusters")
        self.asked = set(map(tuple, edition.table("queries")["prefix"].to_pylist()))
        self.config = _config.from_mapping(TaskConfig, edition.manifest["config"]["tasks"])
        name = str(edition.encoder["name"])
        self.similarity = StringTable(
            edition.table("strings"), name, lambda: load_text_encoder(name)
        )

    @property
    def leaves(self) -> list[list[int]]:
        """Qualifying leaves that the edition has queries of."""
        level = self.codes.shape[1]
        found: list[list[int]] = self.clusters.filter(pc.field("level") == level)[
            "prefix"
        ].to_pylist()
        return [leaf for leaf in found if tuple(leaf) in self.asked]

    def measure(self, queries: pa.Table) -> Facts:
        """The oracle's figures, its nDCG@10 per query, and what the queries express."""
        pools = candidate_pools(self.catalog, self.ids, self.clusters, queries, self.config)
        used, query, product = pool_pairs(pools)
        matches = match_pairs(
            pools.queries["intents"], self.catalog.take(used), query, product, self.similarity
        )
        ids = self.catalog["product_id"].combine_chunks()
        return {
            **reference(pools, matches, ids),
            "ndcg": _ndcg(pools, matches),
            "wishes_of": expressed(pools.queries["intents"]),
            "types": np.array(pools.article_types, dtype=object)[pools.query_anchor],
            "prefixes": pools.prefixes,
        }


def _ndcg(pools: Pools, matches: PairMatches) -> npt.NDArray[np.float64]:
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    rows = [
        pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
        for values in (oracle_scores(matches)[: len(places)], pools.grades[places])
    ]
    return ndcg(*rows, 10)


def separable(bench: Bench) -> dict[tuple[int, ...], float]:
    """By leaf: how much more of it than of its siblings the best set of wishes fits; 0 if none."""
    values, index = wish_incidence(bench.catalog), PrefixIndex(bench.codes)
    gaps = {}
    for leaf in bench.leaves:
        around = index.around(leaf)
        if not len(around.sibling):
            continue
        sets = Source(WishSpace(values, around)).apart
        gaps[tuple(leaf)] = max((one.exact - one.sibling for one in sets), default=0.0)
    return gaps


# ---------------------------------------------------------------- the page


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if np.isnan(value) else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


def percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1%}"


def oracle_table(kinds: Mapping[str, Facts]) -> str:
    """Scores and wishes met, one column per kind of queries."""
    paths = {
        "T1 nDCG@10": ("reference", "ranking", "ndcg@10"),
        "T2 accuracy": ("reference", "classification", "accuracy"),
        "T3 nDCG@3": ("reference", "sibling", "ndcg@3"),
    }
    rows: list[list[object]] = []
    for title, (part, task, metric) in paths.items():
        rows.append([title, *(found["quality"][part][task][metric] for found in kinds.values())])
        rows.append(
            [f"{title}, random", *(f["quality"]["floor"][task][metric] for f in kinds.values())]
        )
    for grade in reversed(GRADE_NAMES):
        wishes = [found["quality"]["wishes"][grade] for found in kinds.values()]
        cells = [f"{percent(w['satisfied'])} (unknown {percent(w['unknown'])})" for w in wishes]
        rows.append([f"{grade}: every wish satisfied", *cells])
    return table(["", *kinds], rows)


def grouped(found: Facts, key: str, group: Callable[[Facts], npt.NDArray[Any]]) -> str:
    """Oracle nDCG@10 and wishes met by a property of the query."""
    wishes, groups = found["wishes"][key], group(found)
    rows = []
    for name, grades in wishes.items():
        mine = groups == name
        if mine.sum() < FEWEST:
            continue
        shares = [percent(grades[g]["satisfied"]) for g in reversed(GRADE_NAMES) if g in grades]
        rows.append([name, int(mine.sum()), float(np.mean(found["ndcg"][mine])), *shares])
    rows.sort(key=lambda row: -row[1] if key == "by_product_type" else 0)
    head = ["", "queries", "oracle nDCG@10", *(g for g in reversed(GRADE_NAMES))]
    return table(head, rows)


def inseparable_table(bench: Bench, gaps: Mapping[tuple[int, ...], float], least: float) -> str:
    """Leaves that no set of wishes tells from their siblings, by product type."""
    kinds = {
        tuple(row["prefix"]): (row["article_type"], row["size"])
        for row in bench.clusters.select(["prefix", "article_type", "size"]).to_pylist()
    }
    total: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    products: Counter[str] = Counter()
    for prefix, gap in gaps.items():
        kind, size = kinds[prefix]
        total[kind] += 1
        if gap < least:
            lost[kind] += 1
            products[kind] += size
    rows: list[list[object]] = [
        [kind, total[kind], count, percent(count / total[kind]), products[kind]]
        for kind, count in lost.most_common(15)
    ]
    every = sum(lost.values())
    rows.append(["all types", len(gaps), every, percent(every / len(gaps)), sum(products.values())])
    return table(["product type", "leaves", "not told apart", "share", "products in them"], rows)


def attribute_table(found: Facts, paper: Mapping[str, Any]) -> str:
    shares = found["wishes_of"].mean(axis=0)
    rows = [
        [name, percent(float(share)), percent(paper["counts"][name] / paper["queries"])]
        for name, share in zip(domain().names, shares, strict=True)
    ]
    mean = float(found["wishes_of"].sum(axis=1).mean())
    rows.append(["per query", f"{mean:.2f}", f"{paper['per_query']['mean']:.2f}"])
    return table(["attribute", "T1 queries here", "paper"], rows)


def form_table(queries: pa.Table, facts: Facts) -> str:
    words = [len(text.split()) for text in queries["query"].to_pylist()]
    counts = Counter(map(tuple, queries["prefix"].to_pylist())).values()
    checks, drafts = facts["checks"], facts["revision"].get("first_draft", {})
    overview = facts["overview"]
    rows: list[list[object]] = [
        ["queries", overview["queries"]],
        ["unique after folding case and punctuation", checks["unique"]],
        ["words, mean (range)", f"{np.mean(words):.2f} ({min(words)}–{max(words)})"],
        ["per cluster, range", f"{min(counts)}–{max(counts)}"],
        ["product types to be covered", checks["coverage"]["required_types"]],
        ["of them not covered", checks["coverage"]["gaps"]],
        ["fit siblings as well", percent(checks["fits_siblings_as_well"])],
    ]
    if drafts:
        rows.append(
            ["fit siblings as well, first drafts", percent(drafts["fits_siblings_as_well"])]
        )
        rows += [
            [name.replace("_", " "), _counted(value)]
            for name, value in facts["revision"].items()
            if name != "first_draft"
        ]
    return table(["", "here"], rows)


def _counted(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{reason} {count:,}" for reason, count in value.items()) or 0
    return value


def page(edition: Edition, seed: int) -> str:
    bench, facts = Bench(edition), describe(edition)
    queries = edition.table("queries")
    if not facts["checks"]:
        facts["checks"] = verify(queries, bench.clusters, bench.catalog, bench.ids).report
    ours = bench.measure(queries)
    plain = bench.measure(plain_queries(bench.corpus, bench.codes, bench.leaves))
    if not np.array_equal(plain["prefixes"], ours["prefixes"]):
        raise SystemExit("The two kinds of queries have different anchors.")
    gaps = separable(bench)
    ranked = edition.table("ranking")["query"].to_pylist()
    drawn = np.random.default_rng(seed).permutation(len(ranked))[:20]
    numbers = [str(n) for n in ours["wishes_of"].sum(axis=1)]
    return "\n\n".join(
        [
            f"# Queries of {edition.name}, measured",
            f"Made by `scripts/study/queries.py` from edition {edition.id}. One edition, one seed, "
            "no intervals. The oracle ranks by R(q, p) from the intents alone; it is a reference "
            "and no bound.",
            "## The queries",
            form_table(queries, facts),
            attribute_table(ours, facts["paper"]["tags"]),
            "## Beside plain queries, on the same anchors",
            "*Plain* asks each leaf for its dominant colour, product type and gender.",
            oracle_table({"plain": plain, "this edition": ours}),
            "## By number of wishes",
            "Share of the T1 pairs of each grade that satisfy every wish.",
            grouped(ours, "by_number_of_wishes", lambda found: np.array(numbers, dtype=object)),
            "## By product type",
            f"Types with at least {FEWEST} T1 queries.",
            grouped(ours, "by_product_type", lambda found: found["types"]),
            "## Where the catalog cannot tell leaves apart",
            "Leaves with siblings, and those for which no set of up to five wishes that 65% of the "
            "leaf satisfy is satisfied by at least 10 points fewer of the siblings' products.",
            inseparable_table(bench, gaps, 0.1),
            f"## Twenty T1 queries, drawn at random (seed {seed}), unedited",
            "\n".join(f"- {ranked[place]}" for place in drawn),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edition", default="fashion-rq-bench", help="folder or name")
    parser.add_argument("--out", type=Path, default=None, help="file; the terminal by default")
    parser.add_argument("--seed", type=int, default=0, help="of the twenty queries")
    options = parser.parse_args()
    text = page(Edition.open(options.edition), options.seed) + "\n"
    if options.out is None:
        print(text)
    else:
        write_text(text, options.out)


if __name__ == "__main__":
    main()
