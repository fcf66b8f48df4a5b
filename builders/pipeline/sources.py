"""What a build takes from outside: the state of a catalog, a domain, an edition to reuse.

In:  a catalog's path, a domain, an edition.
Out: a fingerprint that changes with the catalog, one that changes with the domain's words; semantic
     IDs and string vectors taken over.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.edition.string_vectors import KnownStrings
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import BuildError
from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import DEFAULT, load_domain
from fashion_rq_bench.schema.tables import SEMANTIC_IDS
from fashion_rq_bench.support.files import digest, file_sha256

__all__ = ["domain_digest", "fingerprint", "kept_semantic_ids", "known_strings"]


def known_strings(reuse: str | None) -> KnownStrings | None:
    """String vectors of the edition to reuse, or None where there is none."""
    if reuse is None:
        return None
    edition = Edition.open(reuse)
    return KnownStrings(edition.table("strings"), edition.encoder)


def kept_semantic_ids(edition: Edition, catalog: pa.Table) -> pa.Table:
    """The semantic IDs of ``edition``, in the catalog's order."""
    kept = edition.table("corpus", ["product_id", "semantic_id"])
    rows = pc.index_in(catalog["product_id"], value_set=kept["product_id"])
    if rows.null_count:
        raise BuildError(
            f"{rows.null_count:,} products of this catalog are not in the edition to reuse.",
            given=edition.name,
            fix="Give the catalog that the edition was built from, or build without --reuse.",
        )
    return kept.take(rows).cast(SEMANTIC_IDS)


def domain_digest(one: Domain) -> str:
    """What tells whether a domain has changed; "" for fashion, whose files count as code."""
    if one.digest == load_domain(DEFAULT).digest:
        return ""
    lists = [path for path in sorted(one.folder.rglob("*")) if path.is_file()]
    return digest(one.digest, *(path.read_bytes() for path in lists))


def fingerprint(source: str | Path) -> str:
    """What tells whether an outside catalog has changed: contents of files, names and sizes.

    Product records and photos of a folder count by name, size and time of change; reading tens of
    thousands of them only to see that nothing happened would cost more than the stage.
    """
    path = Path(source)
    if path.is_file():
        return file_sha256(path)
    if not path.is_dir():
        return str(source)
    entries = []
    for item in sorted(path.rglob("*")):
        if item.is_file():
            stat = item.stat()
            entries.append(f"{item.relative_to(path)}:{stat.st_size}:{stat.st_mtime_ns}")
    return digest(*entries)
