"""The page that each metric's Space shows: three boxes of JSON, and the result.

In:  the metric's script, an example, the options that the page lets through.
Out: a gradio interface. Only the Spaces' ``app.py`` import this module.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import evaluate
import gradio

from fashion_rq_bench.errors import FashionRQError, InputError
from fashion_rq_bench.support.files import to_json

__all__ = ["page"]


def page(
    app: str, *, predictions: Any, references: Any, options: Sequence[str], example: dict[str, Any]
) -> gradio.Interface:
    """Build the page of the metric beside ``app``.

    Args:
        app: ``__file__`` of the Space's app.py; the script has the name of its Space's metric.
        predictions, references: an example, shown at the start.
        options: keyword arguments of ``compute`` that visitors may set.
        example: options shown at the start.
    """
    script = next(
        path for path in sorted(Path(app).resolve().parent.glob("*.py")) if path.name != "app.py"
    )
    metric = evaluate.load(str(script), keep_in_memory=True)
    shown = (predictions, references, example)
    return gradio.Interface(
        fn=_answer(metric, options),
        inputs=[
            gradio.Code(value=json.dumps(value, indent=1), language="json", label=label)
            for value, label in zip(shown, ("predictions", "references", "options"), strict=True)
        ],
        outputs=gradio.Code(language="json", label="result"),
        title=script.stem,
        description=metric.description,
        article=f"Options: {', '.join(options)}.",
        flagging_mode="never",
    )


def _answer(metric: evaluate.Metric, options: Sequence[str]) -> Callable[[str, str, str], str]:
    def answer(predictions: str, references: str, chosen: str) -> str:
        try:
            settings = json.loads(chosen or "{}")
            for name in settings:
                if name not in options:
                    raise InputError("There is no such option.", given=name, allowed=options)
            return to_json(
                metric.compute(
                    predictions=json.loads(predictions),
                    references=json.loads(references),
                    **settings,
                )
            )
        except (FashionRQError, ValueError, TypeError) as error:
            message = html.escape(str(error), quote=False)  # the page renders HTML
            raise gradio.Error(message, print_exception=False) from error

    return answer
