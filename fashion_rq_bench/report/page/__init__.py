"""The leaderboard page: one HTML file that works without a network.

Lives here: the page, its data, its query explorer. May import: tables, board and below.
Must not import: commands.
"""

from __future__ import annotations

from fashion_rq_bench.report.page.page import PageConfig, page, write_page

__all__ = ["PageConfig", "page", "write_page"]
