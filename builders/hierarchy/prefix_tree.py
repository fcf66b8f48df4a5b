"""The prefix tree over a catalog, arranged for drawing candidates.

In:  the codes of every product, its twin group and its id.
Out: for any node, its products in an order that depends on a salt and on nothing else.

Implements the shared-prefix relation of the paper's section 4. Products are ordered by a hash of
their id, so adding, moving or removing one product changes only the draws in which it takes part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Ints", "Tree", "hash_ids", "mix", "salts"]

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_WINDOW = 1024
"""Of a node with n products a draw looks at n / 2**b, b = floor(log2(n / _WINDOW)), so that its
cost does not grow with the catalog. Only when n passes a power of two does b change."""


def hash_ids(ids: Iterable[str]) -> Hashes:
    """64-bit BLAKE2b of each id, as unsigned integers: the same on every machine."""
    raw = b"".join(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest() for text in ids)
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def mix(values: Hashes) -> Hashes:
    """Scramble 64-bit integers (the finaliser of SplitMix64; Steele, Lea and Flood 2014)."""
    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def salts(seed: int, prefix: Sequence[int], count: int) -> Hashes:
    """``count`` independent 64-bit salts of one cluster."""
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(prefix))
    return sequence.generate_state(count, np.uint64).astype(np.uint64)


@dataclass(frozen=True)
class Tree:
    """Nodes of every level 0 (the whole catalog) … L (the leaves), and who lies in them.

    Attributes:
        hashes: (N,) hash of each product's id.
        twins: (N,) twin group of each product.
        nodes: per level, (N,) number of the node that holds each product.
        order: per level, (N,) products sorted by (node, hash).
        rings: per level, (N,) hashes in that order.
        starts: per level, (nodes + 1,) where each node begins in ``order``.
        groups: number of twin groups.
        twin_nodes: per level, sorted ``node · groups + twin group`` of every pair that occurs.
        leaf_codes: (leaves, L) codes of each leaf, in the leaves' order.
        leaf_hashes: (leaves,) hash of each leaf's codes.
    """

    hashes: Hashes
    twins: Ints
    nodes: tuple[Ints, ...]
    order: tuple[Ints, ...]
    rings: tuple[Hashes, ...]
    starts: tuple[Ints, ...]
    groups: int
    twin_nodes: tuple[Ints, ...]
    leaf_codes: Ints
    leaf_hashes: Hashes

    @classmethod
    def build(cls, codes: Ints, twins: Ints, hashes: Hashes) -> Tree:
        """Build from (N, L) codes, (N,) twin groups and (N,) hashes."""
        nodes = [np.zeros(len(codes), dtype=np.int64)]
        for column in codes.T:
            joined = nodes[-1] * (int(column.max(initial=0)) + 1) + column
            nodes.append(np.unique(joined, return_inverse=True)[1].astype(np.int64))
        order = [np.lexsort((hashes, node)) for node in nodes]
        starts = [np.concatenate(([0], np.cumsum(np.bincount(node)))) for node in nodes]
        leaf_codes = codes[order[-1][starts[-1][:-1]]]
        groups = int(twins.max(initial=0)) + 1
        return cls(
            hashes,
            twins,
            tuple(nodes),
            tuple(order),
            tuple(hashes[products] for products in order),
            tuple(starts),
            groups,
            tuple(np.unique(node * groups + twins) for node in nodes),
            leaf_codes,
            _hash_codes(leaf_codes),
        )

    @property
    def levels(self) -> int:
        """L, the level of the leaves."""
        return len(self.nodes) - 1

    def candidates(
        self, product: int, level: int, outside: int | None, salt: np.uint64, wanted: int | None
    ) -> Ints:
        """Products of the node at ``level`` above ``product``, in the order that ``salt`` gives.

        No two of them are twins, and none has a twin in the node at level ``outside`` (deeper than
        ``level``) above ``product``, which also keeps out that node's own products. Large nodes are
        looked at in part only, a part that hangs on the salt.

        Args:
            product: any product of the anchor cluster (its row in the catalog).
            level: 0 (whole catalog) … L.
            outside: level of the node to stay outside of; None for no such node.
            salt: the anchor's salt.
            wanted: how many are needed; None for all. A little more than needed may come.
        """
        node = int(self.nodes[level][product])
        span = slice(self.starts[level][node], self.starts[level][node + 1])
        members, ring = self.order[level][span], self.rings[level][span]
        bits = 0 if wanted is None else max(0, (len(members) // _WINDOW).bit_length() - 1)
        while True:
            window = members[_bucket(ring, salt, bits)]
            if outside is not None:
                inside = self._has_twin(window, outside, int(self.nodes[outside][product]))
                window = window[~inside]
            found = self._shuffled(window, salt)
            if wanted is None or len(found) >= wanted or bits == 0:
                return found
            bits = max(0, bits - 2)

    def _has_twin(self, products: Ints, level: int, node: int) -> npt.NDArray[np.bool_]:
        known = self.twin_nodes[level]
        keys = node * self.groups + self.twins[products]
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.asarray(known[place] == keys)

    def _shuffled(self, products: Ints, salt: np.uint64) -> Ints:
        shuffled = products[np.argsort(mix(self.hashes[products] ^ salt), kind="stable")]
        first = np.unique(self.twins[shuffled], return_index=True)[1]
        return shuffled[np.sort(first)]


def _bucket(ring: Hashes, salt: np.uint64, bits: int) -> slice:
    """Where the hashes lie whose first ``bits`` bits are the salt's."""
    low = (int(salt) >> (64 - bits)) << (64 - bits)
    high = low + (1 << (64 - bits)) - 1
    ends = np.array([low, high], dtype=np.uint64)
    return slice(int(np.searchsorted(ring, ends[0])), int(np.searchsorted(ring, ends[1], "right")))


def _hash_codes(codes: Ints) -> Hashes:
    hashed = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        hashed = mix(hashed + column.astype(np.uint64) + np.uint64(1))
    return hashed
