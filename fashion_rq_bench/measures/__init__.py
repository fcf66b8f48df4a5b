"""Arrays in, numbers out: ranking, classification and consistency measures, intervals and tests.

Lives here: every measure that needs scores, grades and groups only. May import: ``schema``,
``support``. Must not import: anything that knows of attributes, editions or retrievers.
"""

from __future__ import annotations

from fashion_rq_bench._moved import names_of

__getattr__ = names_of(__name__, "fashion_rq_bench.measures.ranked")
