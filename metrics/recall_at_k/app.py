"""Space of the metric recall_at_k; run it with ``python app.py``."""

from __future__ import annotations

from fashion_rq_bench.metrics._app import page

demo = page(
    __file__,
    predictions=[[0.9, 0.5, 0.5, 0.1]],
    references=[[3, 1, 0, 2]],
    options=("k", "min_grade", "ties", "ids", "ideal", "return_per_query"),
    example={"k": 2},
)

if __name__ == "__main__":
    demo.launch()
