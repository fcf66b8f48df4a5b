"""The page on which raters answer: one HTML file that needs no network (paper, section 9).

In:  a :class:`~fashion_rq_bench.people.user_study.Study`.
Out: HTML. It holds hidden ids and queries in the study's order, never a source; answers are kept in
     the browser and exported as JSON, which ``read_ratings`` reads.
"""

from __future__ import annotations

from pathlib import Path

from fashion_rq_bench.people.page_frame import framed, scale_words
from fashion_rq_bench.people.study_files import HIGHEST, LOWEST, RATINGS_FORMAT, SCALES, Study
from fashion_rq_bench.support.files import write_text

__all__ = ["rating_page", "write_rating_page"]

_WORDS = {
    "naturalness": ("How natural is it?", "very unnatural, scripted", "very natural"),
    "intent_clarity": ("How clear is what is wanted?", "very vague", "very clear, specific"),
}


def rating_page(study: Study) -> str:
    """The page as HTML; a query's text can neither close the script nor become markup."""
    items = zip(study.ids, study.queries, strict=True)
    content = {
        "format": RATINGS_FORMAT,
        "study": study.study_id,
        "lowest": LOWEST,
        "highest": HIGHEST,
        "scales": scale_words({name: _WORDS[name] for name in SCALES}),
        "items": [{"id": hidden, "query": query} for hidden, query in items],
    }
    return framed("rating", "study", content)


def write_rating_page(study: Study, path: Path) -> None:
    """Write :func:`rating_page` atomically."""
    write_text(rating_page(study), path)
