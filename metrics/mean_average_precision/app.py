"""Space of the metric mean_average_precision; run it with ``python app.py``."""

from __future__ import annotations

from fashion_rq_bench.metrics._app import page

demo = page(
    __file__,
    predictions=[[0.9, 0.8, 0.7, 0.6]],
    references=[[3, 0, 1, 2]],
    options=("k", "min_grade", "ties", "ids", "ideal", "return_per_query"),
    example={},
)

if __name__ == "__main__":
    demo.launch()
