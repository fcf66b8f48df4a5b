"""Space of the metric relevance_classification; run it with ``python app.py``."""

from __future__ import annotations

from fashion_rq_bench.metrics._app import page

demo = page(
    __file__,
    predictions=[[0.9, 0.4, 0.4, 0.1]],
    references=[[3, 2, 1, 0]],
    options=("rule", "clusters", "n_folds", "seed"),
    example={"rule": "rank"},
)

if __name__ == "__main__":
    demo.launch()
