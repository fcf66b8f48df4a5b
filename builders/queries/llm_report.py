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

from .llm_calls import Asked
from .llm_config import LLMConfig
from .prompt import PROMPT_VERSION, Prompt
from .verify import Verdict

__all__ = ["answers_report", "bar", "prompts_report", "run_report"]

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


def prompts_report(prompts: Mapping[str, Prompt]) -> dict[str, Any]:
    """What the budget left out of the prompts, and product text that tries to steer a model."""
    dropped: Counter[str] = Counter()
    for prompt in prompts.values():
        dropped.update(prompt.dropped)
    steering = {key: list(prompt.steering) for key, prompt in prompts.items() if prompt.steering}
    return {
        "evidence_dropped": {
            "clusters": sum(bool(prompt.dropped) for prompt in prompts.values()),
            "facts": dict(sorted(dropped.items())),
        },
        "steering_texts": steering,
    }


def answers_report(asked: Sequence[Asked], config: LLMConfig) -> dict[str, Any]:
    """Answers by how they ended and how they were read, what was lost, tokens and cost."""
    completions = [one for item in asked for one in item.completions]
    answers = [one for item in asked for one in item.answers]
    lost = [text for one in answers for text in one.lost]
    prompt = sum(one.prompt_tokens for one in completions)
    completion = sum(one.completion_tokens for one in completions)
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
            "estimated_answers": sum(not one.counted for one in completions),
        },
        "cost": config.cost(prompt, completion),
    }


@contextmanager
def bar(description: str, total: int) -> Iterator[Callable[[float], None]]:
    """A bar that a function moves on by one answer and tells the cost so far (NaN: not known)."""
    if not sys.stderr.isatty():
        yield lambda cost: None
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

        def advance(cost: float) -> None:
            shown = "" if math.isnan(cost) else f"cost so far {cost:.4f}"
            progress.update(task, advance=1, cost=shown)
            left = progress.tasks[0]
            if left.total is not None and left.completed > left.total:
                progress.update(task, total=left.completed)  # answers asked for again

        yield advance
