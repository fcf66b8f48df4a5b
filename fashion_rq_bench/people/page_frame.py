"""The frame that both pages share: one query at a time, scales, answers kept and saved.

In:  the name of a page, whose own parts stand in ``static/NAME_page.html``, and its data.
Out: one HTML file that needs no network: ``static/frame.html`` with those parts put in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["framed", "scale_words"]

_STATIC = Path(__file__).parent / "static"


def framed(page: str, kind: str, content: Mapping[str, Any]) -> str:
    """A page as HTML; no text of its content can close the script or become markup.

    Args:
        page: "rating" or "review".
        kind: what the answers are of, "study" or "review"; ``content[kind]`` is its id.
        content: JSON-able data for the page's script.
    """
    own = (_STATIC / f"{page}_page.html").read_text(encoding="utf-8")
    blocks = re.split(r"^<!-- (\w+) -->\n", own, flags=re.MULTILINE)[1:]
    parts = {name: text.strip() for name, text in zip(blocks[::2], blocks[1::2], strict=True)}
    data = json.dumps(content, ensure_ascii=True).replace("<", "\\u003c")
    parts |= {"kind": kind, "data": data}
    frame = (_STATIC / "frame.html").read_text(encoding="utf-8")
    # In one pass, so that nothing of the data is taken for a place.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], frame)


def scale_words(words: Mapping[str, tuple[str, str, str]]) -> list[dict[str, str]]:
    """Scales for the page, from the title and the ends of each by name."""
    return [
        {"name": name, "title": title, "low": low, "high": high}
        for name, (title, low, high) in words.items()
    ]
