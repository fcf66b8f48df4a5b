"""What became of every row of a catalog.

In:  counts from the reader.
Out: :class:`CatalogReport`, as data and as tables for a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fashion_rq_bench.schema import tables as schema

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

__all__ = ["CatalogReport"]


@dataclass(frozen=True)
class CatalogReport:
    """Counts of one catalog; ``read + quarantined == input`` and repaired rows are read rows.

    Attributes:
        source: what was read.
        input: rows of the source.
        read: rows of the catalog.
        repaired: rows of the catalog that were malformed and put right.
        quarantined: rows set aside.
        repair_reasons: what was put right -> rows; a row may have had several.
        quarantine_reasons: why rows were set aside -> rows; one reason each.
        nulls: column -> rows without a value, in the catalog as it stands.
        null_strings: column -> rows whose source said "NA" or the like.
        empty: column -> rows whose source was empty or absent.
        filled: column -> rows whose missing value was derived from other columns.
        missing: what the source refers to and lacks, e.g. records, images.
        columns: our column -> the source's.
        currency: of the prices, or None if none is stated.
        tier_thresholds: prices at which mid-range and premium begin, or None without prices.
        tiers: price tier -> rows.
        notes: what else a reader should know.
    """

    source: str
    input: int
    read: int
    repaired: int
    quarantined: int
    repair_reasons: Mapping[str, int] = field(default_factory=dict)
    quarantine_reasons: Mapping[str, int] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    null_strings: Mapping[str, int] = field(default_factory=dict)
    empty: Mapping[str, int] = field(default_factory=dict)
    filled: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    currency: str | None = None
    tier_thresholds: tuple[float, float] | None = None
    tiers: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def brand_inferred(self) -> int:
        """Rows whose brand was taken from the title."""
        return self.filled.get("brand", 0)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``catalog_report.json``; reasons stand under ``reasons``."""
        data = asdict(self) | {"brand_inferred": self.brand_inferred}
        repaired, quarantined = data.pop("repair_reasons"), data.pop("quarantine_reasons")
        return data | {"reasons": {"repaired": repaired, "quarantined": quarantined}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CatalogReport:
        """The report that :meth:`to_dict` wrote, for example read back from JSON."""
        plain = {key: data[key] for key in data if key not in ("reasons", "brand_inferred")}
        limits = plain["tier_thresholds"]
        plain["tier_thresholds"] = None if limits is None else (limits[0], limits[1])
        plain["notes"] = tuple(plain["notes"])
        reasons = data["reasons"]
        return cls(
            **plain, repair_reasons=reasons["repaired"], quarantine_reasons=reasons["quarantined"]
        )

    def table(self) -> Group:
        """Two tables (rows, columns) and the notes, to print with rich."""
        from rich.console import Group
        from rich.text import Text

        # Text objects: markup in a catalog's own words must not be read as markup here.
        return Group(
            self._rows_table(), self._columns_table(), *(Text(note) for note in self._sentences())
        )

    def _rows_table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(f"Catalog {self.source}"), title_justify="left")
        table.add_column("rows")
        table.add_column("count", justify="right")
        lines = [
            ("input", self.input),
            ("read", self.read),
            ("repaired (among those read)", self.repaired),
            *((f"  {reason}", count) for reason, count in self.repair_reasons.items()),
            ("quarantined", self.quarantined),
            *((f"  {reason}", count) for reason, count in self.quarantine_reasons.items()),
        ]
        for label, count in lines:
            table.add_row(Text(label), f"{count:,}")
        return table

    def _columns_table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(title="Columns", title_justify="left")
        table.add_column("column")
        table.add_column("from")
        for heading in ("null", 'said "NA"', "empty", "filled in"):
            table.add_column(heading, justify="right")
        counts = (self.nulls, self.null_strings, self.empty, self.filled)
        for name in schema.catalog_schema().names:
            numbers = [f"{of[name]:,}" if of.get(name) else "" for of in counts]
            table.add_row(name, Text(self.columns.get(name, "")), *numbers)
        return table

    def _sentences(self) -> list[str]:
        sentences = [f"Missing {what}: {count:,}." for what, count in self.missing.items()]
        if self.tier_thresholds is not None:
            low, high = self.tier_thresholds
            spread = ", ".join(f"{name} {count:,}" for name, count in self.tiers.items())
            money = self.currency or "currency not stated"
            sentences.append(f"Price tiers at {low:g} and {high:g} ({money}): {spread}.")
        return [*sentences, *self.notes]
