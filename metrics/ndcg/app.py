"""Space of the metric ndcg; run it with ``python app.py``."""

from __future__ import annotations

from fashion_rq_bench.metrics._app import page

demo = page(
    __file__,
    predictions=[[0.9, 0.8, 0.7], [0.5, 0.5, 0.1]],
    references=[[3, 0, 1], [0, 2, 1]],
    options=("k", "gains", "ties", "ids", "ideal", "return_per_query"),
    example={"k": [1, 3]},
)

if __name__ == "__main__":
    demo.launch()
