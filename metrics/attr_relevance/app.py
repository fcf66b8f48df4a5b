"""Space of the metric attr_relevance; run it with ``python app.py``."""

from __future__ import annotations

from fashion_rq_bench.metrics._app import page

demo = page(
    __file__,
    predictions=[
        [
            {
                "product_id": "1163",
                "article_type": "Shirts",
                "gender": "Men",
                "base_color": "Blue",
                "price_tier": "budget",
            }
        ]
    ],
    references=[{"gender": "women", "color": ["blue"]}],
    options=("k", "discounted", "weights", "return_per_query"),
    example={"k": 1},
)

if __name__ == "__main__":
    demo.launch()
