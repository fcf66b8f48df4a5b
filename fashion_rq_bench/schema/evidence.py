"""The type of a cluster's evidence: what sets it apart from its parent and its siblings.

In:  nothing.
Out: the Arrow type :data:`EVIDENCE`, a column of the table of clusters (paper, 3 and 8.0.2).
"""

from __future__ import annotations

import pyarrow as pa

__all__ = ["EVIDENCE"]

_text, _count, _number = pa.string(), pa.int64(), pa.float64()
_prefix = pa.list_(pa.uint16())


def _rows(**fields: pa.DataType) -> pa.ListType:
    return pa.list_(pa.struct(fields))


_signatures = _rows(
    pairs=_rows(attribute=_text, value=_text),
    coverage=_number,
    precision=_number,
    exclusivity=_number,
)

EVIDENCE = pa.struct(
    {
        "parent_size": _count,
        "siblings": _rows(prefix=_prefix, size=_count),
        "product_type_axis": _text,
        "product_types": _rows(value=_text, count=_count, share=_number),
        "distribution": _rows(
            attribute=_text,
            value=_text,
            count=_count,
            share=_number,
            delta_parent=_number,
            delta_siblings=pa.list_(_number),
        ),
        "numeric": _rows(
            attribute=_text, against=_text, statistic=_text, value=_number, delta=_number
        ),
        "exclusivity": _rows(attribute=_text, value=_text, against=_text, delta=_number),
        "discriminating": _signatures,
        "coverage": _signatures,
        "phrases": _rows(value=_text, share=_number),
    }
)
"""What sets a cluster apart (paper 3 and 8.0.2).

Shares, coverage, precision and exclusivity are in [0, 1] ([-1, 1] for exclusivity); deltas are
percentage points in [-100, 100], in the attribute's own unit for numeric ones. Siblings stand
nearest first; their distance is not kept, since its last bit differs between machines.
``against`` is "parent" or "sibling 1" … "sibling 3", in the order of ``siblings``, as is
``delta_siblings``.
"""
