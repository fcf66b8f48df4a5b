"""What a run with a language model reports, and its progress.

In:  prompts, answers, the verifier's verdict.
Out: JSON-able parts of the report; a progress bar with the cost so far, on standard error.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from fashion_rq_bench.builders.queries.check.steering import steering_report
from fashion_rq_bench.builders.queries.check.verify import Verdict
from fashion_rq_bench.builders.queries.llm.budget import Budget
from fashion_rq_bench.builders.queries.llm.cache import Completion
from fashion_rq_bench.builders.queries.llm.calls import Asked
from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.builders.queries.llm.drafts import Draft
from fashion_rq_bench.builders.queries.llm.prompt import Prompt
from fashion_rq_bench.builders.queries.llm.prompt_text import PROMPT_VERSION

__all__ = ["answers_report", "bar", "corrections_report", "prompts_report", "run_report"]

_SHOWN = 50


def run_report(table: pa.Table, verdict: Verdict, config: LLMConfig) -> dict[str, Any]:
    """How the queries were made and how good they are."""
    return {
        "generator": "llm",
        "parameters": config.published,
        "prompt_version": PROMPT_VERSION,
        "queries": len(table),
        "sources": dict(sorted(Counter(table["source"].to_pylist()).items())),
        "quality": verdict.report,
    }


def prompts_report(prompts: Mapping[str, Prompt], catalog: pa.Table) -> dict[str, Any]:
    """What the budget left out of the prompts, and product text that tries to steer a model.

    ``steering_texts`` lists such products, and as "clusters" the prompts that quote their texts.
    """
    dropped: Counter[str] = Counter()
    for prompt in prompts.values():
        dropped.update(prompt.dropped)
    steering = {key: list(prompt.steering) for key, prompt in prompts.items() if prompt.steering}
    return {
        "evidence_dropped": {
            "clusters": sum(bool(prompt.dropped) for prompt in prompts.values()),
            "facts": dict(sorted(dropped.items())),
        },
        "steering_texts": {**steering_report(catalog), "clusters": steering},
    }


def corrections_report(drafts: Sequence[Draft]) -> dict[str, int]:
    """Clusters asked a second time, what for, and how many of the queries in use came of it."""
    return {
        "clusters": sum(one.second is not None for one in drafts),
        "queries_sent_back": sum(one.sent_back for one in drafts),
        "types_not_covered": sum(one.missing for one in drafts),
        "kept": sum(len(set(one.kept) - set(one.first.queries)) for one in drafts),
    }


def answers_report(
    asked: Sequence[Asked], readings: Sequence[Completion], config: LLMConfig
) -> dict[str, Any]:
    """Answers by how they ended and how they were read, what was lost, tokens and cost.

    Args:
        asked: what came of asking for queries.
        readings: answers of the enrichment; they count in tokens and cost alone.
        config: prices.
    """
    completions = [one for item in asked for one in item.completions]
    answers = [one for item in asked for one in item.answers]
    lost = [text for one in answers for text in one.lost]
    paid = [*completions, *readings]
    prompt = sum(one.prompt_tokens for one in paid)
    completion = sum(one.completion_tokens for one in paid)
    return {
        "answers": {
            "count": len(answers),
            "ended": dict(sorted(Counter(one.finish for one in completions).items())),
            "read_as": dict(sorted(Counter(one.reading for one in answers).items())),
            "queries": sum(len(item.queries) for item in asked),
            "lost": len(lost),
            "lost_texts": lost[:_SHOWN],
        },
        "tokens": {
            "prompt": prompt,
            "completion": completion,
            "estimated_answers": sum(not one.counted for one in paid),
        },
        "cost": config.cost(prompt, completion),
    }


@contextmanager
def bar(description: str, total: int) -> Iterator[Callable[[Budget], None]]:
    """A bar that a function moves on by one answer and shows what is spent so far."""
    if not sys.stderr.isatty():
        yield lambda budget: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[cost]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total, cost="")

        def advance(budget: Budget) -> None:
            progress.update(task, advance=1, cost=_so_far(budget))
            left = progress.tasks[0]
            if left.total is not None and left.completed > left.total:
                progress.update(task, total=left.completed)  # answers asked for again

        yield advance


def _so_far(budget: Budget) -> str:
    """Money spent by this run; tokens where the prices are not known."""
    tokens = budget.spent.prompt_tokens + budget.spent.completion_tokens
    return f"{tokens:,} tokens" if math.isnan(budget.cost) else f"cost so far {budget.cost:.4f}"
