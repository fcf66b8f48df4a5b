"""What a run costs: time, throughput, memory and bytes per vector, and what it would cost.

In:  a block of work under :func:`metering`; inside it, every real encoding under :func:`encoding`.
Out: a :class:`Cost`, kept as ``costs/KEY.json`` beside the results, and a :class:`Price`, which
     scales a run over a slice of the pools up to all of them, kept as ``prices/KEY.json``.

What cannot be known is NaN with a reason (a lexical model has no tokens; vectors read back from
disk were not encoded).
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fashion_rq_bench.support.files import read_json, write_json

__all__ = ["Cost", "Encoded", "Meter", "encoding", "load_record", "metering", "store_record"]

Note = Callable[[Any], None]

_KIBI = 1024
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


@dataclass
class Encoded:
    """What was encoded in one role: "query", "document", or "pair" for cross-encoders."""

    items: int = 0
    characters: int = 0
    tokens: float = 0.0
    seconds: float = 0.0
    vector_bytes: float = 0.0


@dataclass
class Meter:
    """What :func:`encoding` reports while a :func:`metering` block runs.

    Attributes:
        by_role: what was encoded, by role.
        seconds: wall time of the block, once it ended.
        peak_memory_bytes: the process's highest resident memory in the block.
        peak_gpu_bytes: the most that torch held on a GPU; NaN without one.
    """

    by_role: dict[str, Encoded] = field(default_factory=dict)
    seconds: float = float("nan")
    peak_memory_bytes: float = float("nan")
    peak_gpu_bytes: float = float("nan")

    @property
    def encode_seconds(self) -> float:
        """Seconds spent in the model."""
        return sum(one.seconds for one in self.by_role.values())


_ACTIVE: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metering() -> Iterator[Meter]:
    """Measure a block; meters do not nest, the inner one counts."""
    meter = Meter()
    _reset_peaks()
    token, start = _ACTIVE.set(meter), time.perf_counter()
    try:
        yield meter
    finally:
        _ACTIVE.reset(token)
        meter.seconds = time.perf_counter() - start
        meter.peak_memory_bytes, meter.peak_gpu_bytes = _peak_memory(), _peak_gpu()


@contextmanager
def encoding(encoder: object, role: str, texts: Sequence[Any]) -> Iterator[Note]:
    """Report one real encoding; does nothing where nothing is metered.

    Args:
        encoder: asked for ``count_tokens(texts)`` if it has it.
        role: "query", "document" or "pair".
        texts: what is encoded.

    Yields:
        A function to hand the vectors to (anything with ``nbytes``, or None).
    """
    meter = _ACTIVE.get()
    if meter is None:
        yield lambda vectors: None
        return
    size = [0.0]

    def note(vectors: Any) -> None:
        size[0] += _bytes_of(vectors)

    start = time.perf_counter()
    yield note
    seconds = time.perf_counter() - start
    one = meter.by_role.setdefault(role, Encoded())
    one.items += len(texts)
    one.characters += _characters(texts)
    one.tokens += _tokens(encoder, texts)
    one.seconds += seconds
    one.vector_bytes += size[0]


def _bytes_of(vectors: Any) -> float:
    if hasattr(vectors, "nbytes"):
        return float(vectors.nbytes)
    if hasattr(vectors, "indptr"):  # scipy's sparse matrices
        return float(sum(part.nbytes for part in (vectors.data, vectors.indices, vectors.indptr)))
    if isinstance(vectors, list | tuple):  # one matrix of token vectors per text
        return sum(_bytes_of(one) for one in vectors)
    return float("nan")


def _characters(texts: Sequence[Any]) -> int:
    parts = (
        part for text in texts for part in (text if isinstance(text, tuple | list) else [text])
    )
    return sum(len(part) for part in parts if isinstance(part, str))


def _tokens(encoder: object, texts: Sequence[Any]) -> float:
    count = getattr(encoder, "count_tokens", None)
    return float("nan") if count is None else float(count(texts))


def _reset_peaks() -> None:
    with suppress(OSError):  # Linux alone can forget the highest resident memory
        _CLEAR.write_text("5", encoding="ascii")
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()


def _peak_memory() -> float:
    """Bytes; on systems that cannot forget an earlier peak, since the process began."""
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
        return next(float(line.split()[1]) * _KIBI for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return peak if sys.platform == "darwin" else peak * _KIBI


def _cuda() -> Any:
    torch = sys.modules.get("torch")  # a run that did not import torch used no GPU
    return torch.cuda if torch is not None and torch.cuda.is_available() else None


def _peak_gpu() -> float:
    return float("nan") if (cuda := _cuda()) is None else float(cuda.max_memory_allocated())


@dataclass(frozen=True)
class Cost:
    """What one run of one model cost.

    Attributes:
        seconds: wall time from texts to scores, with loading the model.
        encode_seconds: the part of it spent in the model.
        items: texts (or pairs) that were encoded; those read back from disk are not counted.
        items_per_s, tokens_per_s: over ``encode_seconds``.
        tokens: after truncation.
        tokens_missing: why there are none, or "".
        peak_memory_bytes: the process's highest resident memory.
        peak_gpu_bytes: the most that torch held on a GPU.
        vector_bytes_per_product: what a product takes in an index.
        vectors_missing: why that is unknown, or "".
        predicted_seconds: what the smoke slice predicted; NaN if there was none.
    """

    seconds: float
    encode_seconds: float
    items: int
    items_per_s: float
    tokens: float
    tokens_per_s: float
    tokens_missing: str
    peak_memory_bytes: float
    peak_gpu_bytes: float
    vector_bytes_per_product: float
    vectors_missing: str
    predicted_seconds: float

    @classmethod
    def of(cls, meter: Meter, predicted_seconds: float = float("nan")) -> Cost:
        """Sum up a finished meter."""
        roles = meter.by_role.values()
        items, tokens = sum(one.items for one in roles), sum(one.tokens for one in roles)
        seconds = meter.encode_seconds
        products = meter.by_role.get("document", Encoded())
        size = _ratio(products.vector_bytes, products.items)
        nothing = "" if items else "nothing was encoded"
        tokens = tokens if items else float("nan")
        return cls(
            seconds=meter.seconds,
            encode_seconds=seconds,
            items=items,
            items_per_s=_ratio(items, seconds),
            tokens=tokens,
            tokens_per_s=_ratio(tokens, seconds),
            tokens_missing=_reason(tokens, nothing, "the model has no tokenizer"),
            peak_memory_bytes=meter.peak_memory_bytes,
            peak_gpu_bytes=meter.peak_gpu_bytes,
            vector_bytes_per_product=size,
            vectors_missing=_reason(size, nothing, "the model keeps no vector per product"),
            predicted_seconds=predicted_seconds,
        )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _reason(value: float, nothing: str, unknown: str) -> str:
    return "" if value == value else nothing or unknown  # NaN is not equal to itself


def store_record(record: Any, path: Path) -> None:
    """Write a :class:`Cost` (or any flat dataclass) as JSON; NaN becomes null."""
    write_json(asdict(record), path)


def load_record(kind: type[Any], path: Path) -> Any:
    """Read a flat dataclass back, null as NaN; None if it is not there or cannot be used."""
    try:
        found: Mapping[str, Any] = read_json(path)
        return kind(
            **{
                one.name: float("nan") if found[one.name] is None else found[one.name]
                for one in fields(kind)
            }
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
