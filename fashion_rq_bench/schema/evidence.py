"""The type of a cluster's evidence: what sets it apart from its parent and its siblings.

In:  nothing.
Out: the Arrow type :data:`EVIDENCE`, a column of the table of clusters (paper, 3 and 8.0.2).
"""

from __future__ import annotations

import pyarrow as pa

__all__ = ["EVIDENCE"]

_text = pa.string()
_prefix = pa.list_(pa.uint16())
_pair = pa.struct([("attribute", _text), ("value", _text)])
_signature = pa.struct(
    [
        ("pairs", pa.list_(_pair)),
        ("coverage", pa.float64()),
        ("precision", pa.float64()),
        ("exclusivity", pa.float64()),
    ]
)

EVIDENCE = pa.struct(
    [
        ("parent_size", pa.int64()),
        ("siblings", pa.list_(pa.struct([("prefix", _prefix), ("size", pa.int64())]))),
        ("product_type_axis", _text),
        (
            "product_types",
            pa.list_(pa.struct([("value", _text), ("count", pa.int64()), ("share", pa.float64())])),
        ),
        (
            "distribution",
            pa.list_(
                pa.struct(
                    [
                        ("attribute", _text),
                        ("value", _text),
                        ("count", pa.int64()),
                        ("share", pa.float64()),
                        ("delta_parent", pa.float64()),
                        ("delta_siblings", pa.list_(pa.float64())),
                    ]
                )
            ),
        ),
        (
            "numeric",
            pa.list_(
                pa.struct(
                    [
                        ("attribute", _text),
                        ("against", _text),
                        ("statistic", _text),
                        ("value", pa.float64()),
                        ("delta", pa.float64()),
                    ]
                )
            ),
        ),
        (
            "exclusivity",
            pa.list_(
                pa.struct(
                    [
                        ("attribute", _text),
                        ("value", _text),
                        ("against", _text),
                        ("delta", pa.float64()),
                    ]
                )
            ),
        ),
        ("discriminating", pa.list_(_signature)),
        ("coverage", pa.list_(_signature)),
        ("phrases", pa.list_(pa.struct([("value", _text), ("share", pa.float64())]))),
    ]
)
"""What sets a cluster apart (paper 3 and 8.0.2).

Shares, coverage, precision and exclusivity are in [0, 1] ([-1, 1] for exclusivity); deltas are
percentage points in [-100, 100], in the attribute's own unit for numeric ones. Siblings stand
nearest first; their distance is not kept, since its last bit differs between machines.
``against`` is "parent" or "sibling 1" … "sibling 3", in the order of ``siblings``, as is
``delta_siblings``.
"""
