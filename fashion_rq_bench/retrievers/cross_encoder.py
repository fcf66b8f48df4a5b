"""Cross-encoders: a query and a product read together, one forward pass per pair.

In:  a CrossEncoder model with one output.
Out: its score of every pair of the pools. It does not search a corpus: that would take a pass for
     every query and product.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.encoding import model_errors
from fashion_rq_bench.encoders.model import ModelRetriever
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.retrievers.base import Scores
from fashion_rq_bench.retrievers.texts import pool_texts

__all__ = ["Cross"]


class Cross(ModelRetriever):
    """A cross-encoder as a retriever."""

    no_search = "a cross-encoder reads every pair, which takes a pass per query and product"

    def score(self, collection: Collection) -> Scores:
        """The model's score of every pair of the collection, shape (U,).

        Raises:
            ModelError: the model failed, has more than one output, or gave values not finite.
        """
        pairs = collection.pairs
        texts, text_of = pool_texts(collection)
        items = [
            (pairs.queries[query], texts[text])
            for query, text in zip(pairs.query_index.tolist(), text_of.tolist(), strict=True)
        ]
        shards, place = self.rows(items, "pair", self._predict)
        scores: Scores = pa.concat_tables(shards)["score"].to_numpy()[place]
        return scores

    def _predict(self, items: Sequence[tuple[str, str]]) -> pa.Table:
        with model_errors(self.name, "scoring"):
            found = self._model.predict(
                list(items), batch_size=self._located.config.batch_size, show_progress_bar=False
            )
        scores = np.asarray(found, dtype=np.float64)
        if scores.shape != (len(items),):
            raise ModelError(
                f"{self.name} must give each of {len(items)} pairs one score.",
                given=scores.shape,
                fix="A cross-encoder for ranking has one output (num_labels = 1).",
            )
        if not np.isfinite(scores).all():
            raise ModelError(
                f"{self.name} gave {int((~np.isfinite(scores)).sum())} of {len(items)} pairs a "
                "score that is not finite.",
                fix='Half precision is the usual cause: try dtype = "float32".',
            )
        return pa.table({"score": scores})
