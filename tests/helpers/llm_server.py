"""A fake language-model endpoint that misbehaves on schedule, and small tables to ask it about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache as once
from itertools import product
from pathlib import Path
from typing import Any

import fake_llm
import pyarrow as pa

from fashion_rq_bench.builders.context.stage import context
from fashion_rq_bench.builders.hierarchy.clusters import HierarchyConfig, hierarchy
from fashion_rq_bench.builders.queries.llm import generate as llm
from fashion_rq_bench.builders.queries.llm.generate import LLMConfig, generate_with_llm
from fashion_rq_bench.schema.tables import SEMANTIC_IDS, catalog_schema
from helpers import shop as small

SECRET = "sk-do-not-show-this"

Tables = tuple[pa.Table, pa.Table, pa.Table]


@once
def shop() -> Tables:
    """Clusters, catalog and semantic IDs of the small shop."""
    catalog, ids, vectors = small.shop()
    return context(catalog, ids, small.clusters(), vectors), catalog, ids


@once
def large_shop() -> Tables:
    """The same with 600 leaves: each of 25 brands has its own leaf per type, gender and colour."""
    rows, codes = [], []
    for kind, gender, color, brand, place in product(
        range(4), range(2), range(3), range(25), range(2)
    ):
        row = small.row(len(rows), kind, small.GENDERS[gender], small.COLORS[color], place)
        name = f"Brandon{chr(ord('a') + brand)}"
        rows.append({**row, "brand": name, "title": f"{name} {row['title']}"})
        codes.append([kind, gender, 3 * brand + color])
    catalog = pa.Table.from_pylist(rows, schema=catalog_schema())
    ids = pa.table(
        [catalog["product_id"], pa.array(codes, pa.list_(pa.uint16()))], schema=SEMANTIC_IDS
    )
    flat = pa.array([float(code) for one in codes for code in one], pa.float16())
    vectors = pa.table(
        {
            "product_id": catalog["product_id"],
            "vector": pa.FixedSizeListArray.from_arrays(flat, 3),
        }
    )
    found = hierarchy(ids, catalog, HierarchyConfig(min_size=2)).clusters
    table = context(catalog, ids, found, vectors)
    return (
        table.filter(pa.array([level == 3 for level in table["level"].to_pylist()])),
        catalog,
        ids,
    )


@dataclass
class Endpoint:
    """A running fake: its address and what it was asked."""

    url: str
    path: Path
    server: fake_llm.Server

    @property
    def requests(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def config(self, **changes: Any) -> LLMConfig:
        base = LLMConfig(base_url=self.url, model="fake", timeout=20, longest_wait=2.0)
        return replace(base, input_price=0.3, output_price=2.5, **changes)


@contextmanager
def serving(folder: Path, schedule: str = "good", **settings: Any) -> Iterator[Endpoint]:
    log = folder / f"{schedule}.jsonl"
    state = fake_llm.State(fake_llm.SCHEDULES[schedule], log=log, **settings)
    server = fake_llm.serve(state)
    try:
        yield Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", log, server)
    finally:
        server.shutdown()
        server.server_close()


def few(tables: Tables, count: int) -> Tables:
    return tables[0].slice(len(tables[0]) - count), tables[1], tables[2]


def run(tables: Tables, config: LLMConfig, folder: Path, **rest: Any) -> llm.LLMResult:
    return generate_with_llm(*tables, config, cache=folder / "answers", **rest)


def contents(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.json"))
