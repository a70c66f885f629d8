"""Permutations: the subsets that players form as they join one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from shaff._util.typing import IntArray, RandomState
from shaff.designs.sampling import unseen
from shaff.errors import InputError
from shaff.protocols import DesignContext, DesignSetting, Proposal, Values
from shaff.subsets import Subsets, prefixes

Kind = Literal["antithetic", "orthogonal", "plain"]


class PermutationDesign:
    """Prefixes of random orders of the players, as many orders as fit ``n_subsets``.

    Parameters
    ----------
    n_players : int
    n_subsets : int
        Cap on the distinct subsets to evaluate; the empty and the full set do not count. One
        order takes ``n_players - 1``, an order and its reverse twice that.
    kind : {"antithetic", "orthogonal", "plain"}
        "antithetic": each order is followed by its reverse, whose prefixes are complements.
        "orthogonal": antithetic orders of the coordinates of orthogonal random vectors (Mitchell,
        Cooper, Frank and Holmes, 2022). "plain": independent orders.
    random_state : int, RandomState or None

    Attributes
    ----------
    orders : int array of shape (n_orders, n_players)
        What `shaff.solve.permutations.PermutationSolver` needs.

    Examples
    --------
    >>> from shaff.designs.permutations import PermutationDesign
    >>> design = PermutationDesign(n_players=5, n_subsets=20, random_state=0)
    >>> bool((design.orders[1] == design.orders[0][::-1]).all())
    True
    """

    def __init__(
        self,
        n_players: int,
        n_subsets: int,
        kind: Kind = "antithetic",
        random_state: RandomState = None,
    ) -> None:
        if kind not in ("antithetic", "orthogonal", "plain"):
            raise ValueError(f"unknown kind of permutations: {kind!r}")
        self.n_players, self.n_subsets, self.kind = n_players, n_subsets, kind
        self._rng = check_random_state(random_state)

    @cached_property
    def orders(self) -> IntArray:
        """Orders of the players, reverses right after."""
        # Past this many orders new subsets are rare: few players, many subsets.
        limit = 20 * (self.n_subsets // max(self.n_players - 1, 1) + 1)
        seen: set[bytes] = set()
        taken: list[IntArray] = []
        for order in self._stream():
            unit = order[None] if self.kind == "plain" else np.stack([order, order[::-1]])
            keys = set(Subsets.from_masks(prefixes(unit)).keys())
            if len(seen | keys) > self.n_subsets or len(taken) >= limit:
                break
            seen |= keys
            taken.append(unit)
        if not taken:
            raise InputError(
                f"n_subsets={self.n_subsets} is too small for one order of the inputs."
            )
        return np.concatenate(taken)

    @property
    def subsets(self) -> Subsets:
        """The whole design, each subset once."""
        return Subsets.from_masks(prefixes(self.orders)).unique()

    def propose(self, history: Values) -> Proposal | None:
        """Propose the whole design with its orders, except for what the history holds."""
        proposal = unseen(self.subsets, history)
        return None if proposal is None else replace(proposal, orders=self.orders)

    def _stream(self) -> Iterator[IntArray]:
        p = self.n_players
        while True:
            if self.kind != "orthogonal" or p < 2:
                yield self._rng.permutation(p)
                continue
            # Orthogonal vectors of the hyperplane of vectors that sum to 0.
            normal = self._rng.standard_normal((p, p - 1))
            basis, _ = np.linalg.qr(normal - normal.mean(axis=0))
            yield from np.argsort(basis.T, axis=1)


@dataclass(frozen=True)
class Permutations(DesignSetting):
    """``design="antithetic"``, ``"orthogonal"`` or ``"permutations"`` (plain ones).

    Examples
    --------
    >>> from shaff.designs.permutations import Permutations
    >>> Permutations("plain").name
    'permutations'
    """

    kind: Kind = "antithetic"
    solver = "permutations"
    gives = "orders"

    @property
    def name(self) -> str:
        """The design's name, which depends on the kind of orders."""
        return "permutations" if self.kind == "plain" else self.kind

    def make(self, context: DesignContext) -> PermutationDesign:
        """Return the design of at most ``context.max_subsets`` subsets."""
        return PermutationDesign(
            context.n_players, context.max_subsets, kind=self.kind, random_state=context.seed
        )
