"""Tables of editions, models and comparisons, for terminal, Markdown, LaTeX and CSV.

Lives here: what is laid out in rows. May import: the board and below.
Must not import: plots and pages.
"""

from __future__ import annotations

from fashion_rq_bench._moved import names_of

__getattr__ = names_of(__name__, "fashion_rq_bench.evaluation.score_table")
