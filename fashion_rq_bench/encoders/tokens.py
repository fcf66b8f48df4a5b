"""How many tokens a model reads of texts, for what a run cost.

In:  a sentence-transformers model, texts or pairs of texts.
Out: their number after truncation, with special tokens and without prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["count_tokens"]

_NO_LIMIT = 1_000_000
"""Tokenizers without a limit of their own say 10^30, which none of them can be called with."""


def count_tokens(model: Any, items: Sequence[str] | Sequence[tuple[str, str]]) -> float:
    """Tokens of all items together; NaN where the model has no tokenizer that can be asked."""
    tokenizer = getattr(model, "tokenizer", None)
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)  # a processor of texts and pictures
    if not callable(tokenizer) or not items:
        return 0.0 if not items else float("nan")
    limit = getattr(model, "max_seq_length", None) or getattr(model, "max_length", None)
    if limit and limit > _NO_LIMIT:
        limit = None
    sides = [list(side) for side in zip(*items, strict=True)] if isinstance(items[0], tuple) else []
    try:
        found = tokenizer(*(sides or [list(items)]), truncation=limit is not None, max_length=limit)
        return float(sum(map(len, found["input_ids"])))
    except (TypeError, ValueError, KeyError):  # a tokenizer of another make
        return float("nan")
