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
from wording.bench import Bench, Facts, plain_queries, separable

from fashion_rq_bench.builders.queries.check.verify import verify
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.report.tables.describe import describe
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.support.files import write_text

FEWEST = 30
"""Queries that a product type must have to stand in a table of its own."""


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
