"""Queries of every qualifying cluster, by a language model.

In:  clusters with evidence, the catalog, semantic IDs, which model to ask, a folder of answers.
Out: the QUERIES table with intents, and a report; the same as the offline grammar gives.

Implements the paper's section 3 (automatic query generation and query attribute enrichment). Each
cluster is asked once; the offline parser, or the model itself, reads the intents of its queries;
the verifier judges them; failing ones go back once with the reasons, then are dropped and counted.
Answers are kept on disk, so a killed run goes on where it stopped and a finished one is replayed
without the model to the same bytes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fashion_rq_bench.builders.queries.check.phrasebook import Phrasebook, phrasebook
from fashion_rq_bench.builders.queries.generator import (
    QueryConfig,
    QueryResult,
    check_same_products,
    generate,
)
from fashion_rq_bench.builders.queries.llm.cache import AnswerCache
from fashion_rq_bench.builders.queries.llm.calls import Caller, together
from fashion_rq_bench.builders.queries.llm.client import ChatModel, load_model
from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.builders.queries.llm.drafts import (
    LEAST,
    Draft,
    Shop,
    cluster_prompts,
    judge,
    missing_types,
    settle,
)
from fashion_rq_bench.builders.queries.llm.enrich import Reader
from fashion_rq_bench.builders.queries.llm.prompt import Prompt, correction
from fashion_rq_bench.builders.queries.llm.report import (
    answers_report,
    bar,
    corrections_report,
    prompts_report,
    run_report,
)
from fashion_rq_bench.builders.queries.say.evidence import Evidence
from fashion_rq_bench.schema.tables import queries_schema
from fashion_rq_bench.words.vocabulary import fold

__all__ = ["LLMConfig", "LLMResult", "generate_with_llm"]


@dataclass(frozen=True)
class LLMResult(QueryResult):
    """Queries, the report, and what this run did to get them.

    Attributes:
        run: new calls, kept answers, retries, tokens and money of this run alone; unlike the
            report it differs between a first run and its replay.
    """

    run: dict[str, Any]


def generate_with_llm(
    clusters: pa.Table,
    catalog: pa.Table,
    semantic_ids: pa.Table,
    config: LLMConfig | None = None,
    *,
    cache: Path,
    queries: QueryConfig | None = None,
    book: Phrasebook | None = None,
    api_key: str | None = None,
) -> LLMResult:
    """Write queries for every cluster with a language model.

    Args:
        clusters: schema CLUSTERS.
        catalog: schema CATALOG.
        semantic_ids: schema SEMANTIC_IDS, in the catalog's order.
        config: model, limits and prices.
        cache: folder of kept answers; may be shared by runs.
        queries: counts and lengths of queries; its seed serves the fallback.
        book: phrases that the intents are read with; the catalog's own by default.
        api_key: see :func:`~.llm_client.load_model`.

    Returns:
        The QUERIES table, ordered as ``clusters`` and then as answered, the report (the same for
        the same answers), and what this run did.

    Raises:
        InputError: if the semantic IDs are not the catalog's.
        LLMError: if the endpoint refuses, cannot be reached, or the budget is spent; answers so far
            are kept.
    """
    config, queries = config or LLMConfig(), queries or QueryConfig()
    check_same_products(semantic_ids, catalog)
    shop = Shop(clusters, catalog, semantic_ids, queries, book or phrasebook(catalog))
    return _in_loop(_generate(shop, config, cache, lambda: load_model(config, api_key)))


def _in_loop(work: Coroutine[Any, Any, LLMResult]) -> LLMResult:
    """Run to the end; in a thread of its own where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[LLMResult | BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


async def _generate(
    shop: Shop, config: LLMConfig, cache: Path, connect: Callable[[], ChatModel]
) -> LLMResult:
    prompts = list(cluster_prompts(shop.clusters, config, shop.queries))
    with _caller(config, cache, connect, len(prompts)) as caller:
        reader = Reader(caller, shop.book, shop.readings)
        try:
            drafts = await _first_answers(prompts, shop, caller)
            await _read(reader, [draft.first.queries for draft in drafts], config)
            await _correct(drafts, shop, caller)
            second = [draft.second.queries for draft in drafts if draft.second is not None]
            await _read(reader, second, config)
        finally:
            await caller.close()
    dropped = settle(drafts, shop)
    table = shop.table(drafts, [draft.kept for draft in drafts])
    table = _with_fallback(table, drafts, shop, config)
    report = run_report(table, shop.verdict(table), config)
    report |= _account(drafts, dropped, reader, shop.catalog, config)
    return LLMResult(table, report, _run(caller, config))


async def _first_answers(
    prompts: Sequence[tuple[Evidence, Prompt]], shop: Shop, caller: Caller
) -> list[Draft]:
    enough = max(LEAST, shop.queries.min_queries // 2)
    found = await together(caller.ask(prompt.messages, enough) for _, prompt in prompts)
    return [Draft(*pair, one) for pair, one in zip(prompts, found, strict=True)]


async def _read(reader: Reader, groups: Sequence[Sequence[str]], config: LLMConfig) -> None:
    """Let the model read the queries too, if it is to; the parser reads what it leaves out."""
    if config.enricher == "llm":
        await reader.read(groups)


@contextmanager
def _caller(
    config: LLMConfig, cache: Path, connect: Callable[[], ChatModel], total: int
) -> Iterator[Caller]:
    """A caller whose answers move a bar that shows what they cost."""
    with bar("asking the model", total) as advance:
        caller: Caller

        def told() -> None:
            advance(caller.budget)

        caller = Caller(config, AnswerCache(cache), connect, told)
        yield caller


async def _correct(drafts: Sequence[Draft], shop: Shop, caller: Caller) -> None:
    """Send failing queries back once, with the reasons, and types that none covers."""
    judged = judge(drafts, [draft.first.queries for draft in drafts], shop)
    waiting: list[tuple[Draft, Sequence[Mapping[str, str]]]] = []
    for draft, found in zip(drafts, judged, strict=True):
        faults = [(one.query, one.reasons) for one in found if one.reasons]
        missing = missing_types(draft, [one for one in found if not one.reasons])
        if draft.first.queries and (faults or missing):
            draft.sent_back, draft.missing = len(faults), len(missing)
            messages = correction(draft.prompt, draft.first.queries, faults, missing)
            waiting.append((draft, messages))
    answers = await together(caller.ask(messages, 1) for _, messages in waiting)
    for (draft, _), answer in zip(waiting, answers, strict=True):
        draft.second = answer


def _with_fallback(
    table: pa.Table, drafts: Sequence[Draft], shop: Shop, config: LLMConfig
) -> pa.Table:
    """Add the grammar's queries for clusters without any, in the order of the clusters."""
    empty = [not draft.kept for draft in drafts]
    if config.fallback == "none" or not any(empty):
        return table
    rest = shop.clusters.filter(pa.array(empty))
    taken = {fold(query) for query in table["query"].to_pylist()}
    rows = table.to_pylist()
    written = generate(rest, shop.catalog, shop.semantic_ids, shop.queries).table.to_pylist()
    rows += [row for row in written if fold(row["query"]) not in taken]
    place = {draft.evidence.prefix: number for number, draft in enumerate(drafts)}
    rows.sort(key=lambda row: place[tuple(row["prefix"])])
    return pa.Table.from_pylist(rows, schema=queries_schema())


# ---------------------------------------------------------------- accounts


def _account(
    drafts: Sequence[Draft],
    dropped: dict[str, int],
    reader: Reader,
    catalog: pa.Table,
    config: LLMConfig,
) -> dict[str, Any]:
    """What was asked and what became of it; the same for the same answers."""
    required = [(d, one.casefold()) for d in drafts for one in d.evidence.required_types()]
    mapped = sum(any(one in asked.covered for asked in d.asked) for d, one in required)
    return {
        **prompts_report({d.evidence.key: d.prompt for d in drafts}, catalog),
        **answers_report([one for d in drafts for one in d.asked], reader.completions, config),
        "corrections": corrections_report(drafts),
        "enrichment": {"enricher": config.enricher, **reader.report},
        "dropped": dropped,
        "kept_though_broad": sum(draft.broad for draft in drafts),
        "coverage_map": {"required": len(required), "not_mapped": len(required) - mapped},
        "fallback": [draft.evidence.key for draft in drafts if not draft.kept],
        "failed": {
            draft.evidence.key: asked.failed
            for draft in drafts
            for asked in draft.asked
            if asked.failed is not None
        },
    }


def _run(caller: Caller, config: LLMConfig) -> dict[str, Any]:
    spent, traffic = caller.spent, caller.traffic
    return {
        "calls": traffic.called,
        "kept_answers": traffic.reused,
        "retries": dict(sorted(traffic.retried.items())),
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost": caller.budget.cost,
    }
