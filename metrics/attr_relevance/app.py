"""Space of the metric attr_relevance; run it with ``python app.py``."""

from __future__ import annotations

from fashion_rq_bench.metrics._app import page
from fashion_rq_bench.schema.domain import domain

demo = page(
    __file__,
    predictions=[[domain().table("example").get("product", {})]],
    references=[domain().table("example").get("intent", {})],
    options=("k", "discounted", "weights", "return_per_query"),
    example={"k": 1},
)

if __name__ == "__main__":
    demo.launch()
