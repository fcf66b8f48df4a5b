"""Many results side by side: the board, its means, comparisons.

Lives here: reading results files and testing differences. May import: ``evaluation`` and below.
Must not import: tables, plots and pages.
"""

from __future__ import annotations

from fashion_rq_bench._moved import names_of

__getattr__ = names_of(__name__, "fashion_rq_bench.report.board.board")
