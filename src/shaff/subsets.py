"""Lists of subsets of players: packed bits, any number of players, with regression weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from shaff._util.typing import BoolArray, FloatArray, IntArray, IntpArray, Players, WordArray


def log_kernel_weight(sizes: npt.ArrayLike, n_players: int) -> FloatArray:
    """Log of the Shapley kernel weight w(U) of section 2 of the paper, by subset size.

    The binomial coefficient overflows a double near 1000 players, hence the logs. The empty and
    the full set are constraints of the least-squares problem, not rows of it: their weight is inf.

    Examples
    --------
    >>> from shaff.subsets import log_kernel_weight
    >>> float(log_kernel_weight([1], 3)[0].round(4))
    -1.0986
    """
    size = np.asarray(sizes, dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_binomial = gammaln(n_players + 1) - gammaln(size + 1) - gammaln(n_players - size + 1)
        weight = (
            np.log(max(n_players - 1, 1)) - log_binomial - np.log(size) - np.log(n_players - size)
        )
    return np.asarray(weight, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Subsets:
    """An ordered list of subsets of ``n_players`` players.

    Parameters
    ----------
    words : uint64 array of shape (n_subsets, ceil(n_players / 64))
        Bit ``j % 64`` of word ``j // 64`` says whether player j is in the subset.
    n_players : int
    log_weight : float array of shape (n_subsets,) or None
        Log weight of each subset in the least-squares problem of step 3; None means the
        Shapley kernel weight.

    Examples
    --------
    >>> from shaff.subsets import Subsets
    >>> s = Subsets.from_indices([[0, 2], [1]], n_players=3)
    >>> s.masks().astype(int).tolist()
    [[1, 0, 1], [0, 1, 0]]
    >>> s.complement().sizes.tolist()
    [1, 2]
    """

    words: WordArray
    n_players: int
    log_weight: FloatArray | None = None

    @classmethod
    def from_masks(cls, masks: npt.ArrayLike, log_weight: FloatArray | None = None) -> Subsets:
        """Pack a boolean matrix of shape (n_subsets, n_players)."""
        bits = np.atleast_2d(np.asarray(masks, dtype=bool))
        n_words = max(1, -(-bits.shape[1] // 64))
        padded = np.zeros((bits.shape[0], n_words * 64), dtype=bool)
        padded[:, : bits.shape[1]] = bits
        packed = np.packbits(padded, axis=1, bitorder="little")
        return cls(packed.view("<u8").astype(np.uint64), bits.shape[1], log_weight)

    @classmethod
    def from_indices(cls, members: Sequence[Sequence[int]], n_players: int) -> Subsets:
        """Pack a list of lists of player indices."""
        masks = np.zeros((len(members), n_players), dtype=bool)
        for row, indices in enumerate(members):
            masks[row, list(indices)] = True
        return cls.from_masks(masks)

    @classmethod
    def full(cls, n_players: int) -> Subsets:
        """Return the grand coalition alone."""
        return cls.from_masks(np.ones((1, n_players), dtype=bool))

    @classmethod
    def singletons(cls, n_players: int) -> Subsets:
        """Return each player alone."""
        return cls.from_masks(np.eye(n_players, dtype=bool))

    @classmethod
    def concatenate(cls, parts: Sequence[Subsets]) -> Subsets:
        """Join lists over the same players; weights are kept only if every part has them."""
        log_weights = [part.log_weight for part in parts]
        joined = (
            None
            if any(weight is None for weight in log_weights)
            else np.concatenate([w for w in log_weights if w is not None])
        )
        return cls(np.concatenate([part.words for part in parts]), parts[0].n_players, joined)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: slice | IntArray | BoolArray) -> Subsets:
        weight = None if self.log_weight is None else self.log_weight[index]
        return Subsets(self.words[index], self.n_players, weight)

    @property
    def sizes(self) -> IntArray:
        """Number of players in each subset, shape (n_subsets,)."""
        counts = np.bitwise_count(self.words)
        return np.asarray(counts.sum(axis=1), dtype=np.int64)

    def masks(self) -> BoolArray:
        """Return the boolean matrix of shape (n_subsets, n_players)."""
        as_bytes = np.ascontiguousarray(self.words.astype("<u8")).view(np.uint8)
        bits = np.unpackbits(as_bytes, axis=1, bitorder="little", count=self.n_players)
        return bits.astype(bool)

    def complement(self) -> Subsets:
        """Return each subset's complement, in the same order and with the same weights."""
        return Subsets(
            self.words ^ Subsets.full(self.n_players).words, self.n_players, self.log_weight
        )

    def keys(self) -> list[bytes]:
        """Return one hashable key per subset."""
        return [row.tobytes() for row in self.words]

    def with_log_weight(self, log_weight: FloatArray | None) -> Subsets:
        """Return the same subsets with other regression weights."""
        return Subsets(self.words, self.n_players, log_weight)

    def regression_log_weight(self) -> FloatArray:
        """Return the log weights of step 3: those of the design, else the Shapley kernel's."""
        if self.log_weight is not None:
            return self.log_weight
        return log_kernel_weight(self.sizes, self.n_players)

    def unique(self) -> Subsets:
        """Return each subset once, in order of first occurrence; weights of duplicates add up."""
        _, first, inverse = np.unique(self.words, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        if self.log_weight is None:
            return Subsets(self.words[first[order]], self.n_players)
        total = np.full(len(first), -np.inf)
        np.logaddexp.at(total, inverse.ravel(), self.log_weight)
        return Subsets(self.words[first[order]], self.n_players, total[order])

    def to_columns(self, players: Players, n_columns: int) -> Subsets:
        """Return the subsets of columns that these subsets of players stand for."""
        masks = np.zeros((len(self), n_columns), dtype=bool)
        for player, member in zip(players, self.masks().T, strict=True):
            masks[:, player] |= member[:, None]
        return Subsets.from_masks(masks)


def prefixes(orders: IntArray) -> BoolArray:
    """Return masks of the first 1, ..., p - 1 players of each order, order by order."""
    n_orders, p = orders.shape
    joined_at = np.argsort(orders, axis=1)
    masks = joined_at[:, None, :] <= np.arange(p - 1)[None, :, None]
    return masks.reshape(n_orders * (p - 1), p)


def n_owen_coalitions(unions: IntpArray) -> int:
    """Return the number of subsets in `owen_coalitions`.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.subsets import n_owen_coalitions
    >>> n_owen_coalitions(np.array([0, 0, 1]))
    6
    """
    sizes = np.bincount(unions).tolist()
    others = 2 ** (len(sizes) - 1)
    return int(2 ** len(sizes) - 2 + sum(others * (2**size - 2) for size in sizes))


def owen_coalitions(unions: IntpArray) -> Subsets:
    """Return the subsets that Owen values depend on: whole groups, and a part of one more.

    The empty and the full set are not among them. With each subset comes its complement.

    Parameters
    ----------
    unions : int array of shape (n_players,)
        Codes 0, 1, ... of the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.subsets import owen_coalitions
    >>> len(owen_coalitions(np.array([0, 0, 1, 1])))
    10
    """
    wholes = _every_mask(int(unions.max()) + 1)[:, unions]
    parts = [wholes]
    for g in range(int(unions.max()) + 1):
        own = np.flatnonzero(unions == g)
        without = wholes[~wholes[:, own[0]]]
        inner = _every_mask(len(own))[1:-1]
        masks = np.repeat(without, len(inner), axis=0)
        masks[:, own] = np.tile(inner, (len(without), 1))
        parts.append(masks)
    found = np.concatenate(parts)
    return Subsets.from_masks(found[found.any(axis=1) & ~found.all(axis=1)])


def _every_mask(n: int) -> BoolArray:
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1, dtype=bool)
