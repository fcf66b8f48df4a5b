"""Parts of an encoder that sentence-transformers does not have (paper, Tables 12 and 13).

In:  features of a forward pass, or texts to be tokenised.
Out: the same with token vectors averaged over the first and last layer, or with one end-of-sequence
     token per text.

Imports torch: reached only through ``assemble``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sentence_transformers.base.modules import Transformer

__all__ = ["AppendedEos", "FirstLastMean"]


class FirstLastMean(torch.nn.Module):
    """Mean of the first and the last layer's hidden states, token by token.

    The first layer is the first transformer block (hidden state 1), not the embeddings, as in
    SimCSE's "avg_first_last".
    """

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        """Replace ``token_embeddings`` (B, T, d)."""
        layers = features["all_layer_embeddings"]
        features["token_embeddings"] = (layers[1] + layers[-1]) / 2
        return features


class AppendedEos(Transformer):
    """A transformer whose texts end in exactly one end-of-sequence token, appended after cutting.

    A tokenizer that appends one itself is not trusted to do so for texts it has cut, and does not
    lead to two.
    """

    def preprocess(
        self,
        inputs: Sequence[Any],
        prompt: str | None = None,
        processing_kwargs: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Token ids and mask, (B, T), of the prompt and each text; the rest is not used."""
        tokenizer: Any = self.tokenizer
        limit = int(tokenizer.model_max_length)
        texts = [f"{prompt or ''}{text}" for text in inputs]
        rows = tokenizer(texts, truncation=True, max_length=limit, return_attention_mask=False)
        end = tokenizer.eos_token_id
        ids = [[*_without_end(row, end)[: limit - 1], end] for row in rows["input_ids"]]
        batch = tokenizer.pad({"input_ids": ids}, padding=True, return_tensors="pt")
        return {**batch, "modality": "text"}


def _without_end(row: list[int], end: int) -> list[int]:
    return row[:-1] if row and row[-1] == end else row
