"""Space of the metric consistency_at_k; run it with ``python app.py``."""

from __future__ import annotations

from fashion_rq_bench.metrics._app import page

demo = page(
    __file__,
    predictions=[["a", "b", "c"], ["b", "a", "d"], ["c", "d", "a"]],
    references=["blue shirts", "blue shirts", "blue shirts"],
    options=("k", "query_ids", "seed", "samples", "intents", "return_per_group"),
    example={"k": 2},
)

if __name__ == "__main__":
    demo.launch()
