"""How sure a comparison of retrievers is: intervals, paired tests, agreement, ranks.

Lives here: what takes values per unit (a query, or a paraphrase group) and model, and each unit's
cluster. May import: ``errors``. Must not import: other measures.

The paper (section 5) gives means alone. Queries of a cluster share one pool of candidates, so they
are not independent: clusters are drawn with replacement, not queries. A draw is a vector of how
often each cluster came, so all draws of all figures are one matrix product.
"""

from __future__ import annotations

from fashion_rq_bench.measures.statistics._numbers import LEVEL
from fashion_rq_bench.measures.statistics.bootstrap import (
    RESAMPLES,
    Resampling,
    interval,
    minimum_detectable,
    resample,
)
from fashion_rq_bench.measures.statistics.paired import (
    Differences,
    differences,
    holm,
    outcomes,
    wilcoxon,
)
from fashion_rq_bench.measures.statistics.ranks import compact_letters, rank_agreement, rank_ranges

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Differences",
    "Resampling",
    "compact_letters",
    "differences",
    "holm",
    "interval",
    "minimum_detectable",
    "outcomes",
    "rank_agreement",
    "rank_ranges",
    "resample",
    "wilcoxon",
]
