"""Designs of games with an order: one design for each layer.

Once the inputs of earlier layers are known, a layer is a game of its own. It is evaluated with all
that come before, and with nothing that comes after.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shaff._util.typing import FloatArray, IntArray
from shaff.data.structure import PLAIN, Layer, layers_of
from shaff.designs.exhaustive import LARGEST_EVALUATED
from shaff.designs.sampling import unseen
from shaff.errors import InputError
from shaff.protocols import Design, DesignContext, DesignSetting, Proposal, Values
from shaff.subsets import Subsets

# The least that a design of several players can do with.
_PAIR = 2


class LayeredDesign:
    """First the ends of all layers, then what the design of each layer proposes.

    Parameters
    ----------
    layers : tuple of Layer
    designs : list of Design or None
        The design of each layer; None where it has one player only.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import layers_of
    >>> from shaff.designs.exhaustive import ExhaustiveDesign
    >>> from shaff.designs.layered import LayeredDesign
    >>> from shaff.protocols import Values
    >>> from shaff.subsets import Subsets
    >>> design = LayeredDesign(layers_of(np.array([0, 1, 1])), [None, ExhaustiveDesign(2)])
    >>> design.propose(Values(Subsets.full(3), np.array([0.9]))).subsets.masks().tolist()
    [[True, False, False]]
    """

    def __init__(self, layers: tuple[Layer, ...], designs: list[Design | None]) -> None:
        self.layers = layers
        self._open = {k: design for k, design in enumerate(designs) if design is not None}

    def propose(self, history: Values) -> Proposal | None:
        """Propose the next batches of all layers that are not done."""
        ends = unseen(Subsets.from_masks([layer.after for layer in self.layers]), history)
        if ends is not None:
            return ends
        found: dict[int, Proposal] = {}
        for k, design in tuple(self._open.items()):
            proposal = design.propose(game_of(self.layers[k], history))
            if proposal is None:
                del self._open[k]
            else:
                found[k] = proposal
        return self._together(found) if found else None

    def _together(self, found: dict[int, Proposal]) -> Proposal:
        subsets = [self.layers[k].lifted(proposal.subsets) for k, proposal in found.items()]
        errors = [proposal.error for proposal in found.values() if proposal.error is not None]
        return Proposal(Subsets.concatenate(subsets), error=max(errors, default=None))


def game_of(layer: Layer, history: Values) -> Values:
    """Return the values of a layer as a game of its own, its full set first.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import layers_of
    >>> from shaff.designs.layered import game_of
    >>> from shaff.protocols import Values
    >>> from shaff.subsets import Subsets
    >>> known = Subsets.from_masks([[1, 1, 1], [1, 0, 0], [1, 1, 0]])
    >>> game_of(layers_of(np.array([0, 1, 1]))[1], Values(known, np.array([0.75, 0.5, 0.5]))).v
    array([0.25, 0.  ])
    """
    masks = history.subsets.masks()
    start = history.v[(masks == layer.before).all(axis=1)] if layer.before.any() else np.zeros(1)
    end = np.flatnonzero((masks == layer.after).all(axis=1))[:1]
    places = np.concatenate([end, layer.places(masks)])
    return Values(Subsets.from_masks(layer.taken(masks[places])), history.v[places] - start[0])


def make_design(setting: DesignSetting, context: DesignContext) -> Design:
    """Return the design of a game, or one design for each layer where it has an order.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.structure import Structure
    >>> from shaff.designs import find_design
    >>> from shaff.designs.layered import make_design
    >>> from shaff.protocols import DesignContext
    >>> ordered = DesignContext(3, None, None, 0, structure=Structure(np.array([0, 1, 1])))
    >>> type(make_design(find_design("auto"), ordered)).__name__
    'LayeredDesign'
    """
    if context.structure.order is None:
        return setting.make(context)
    layers = layers_of(context.structure.order)
    shares = _shares(layers, context.n_subsets)
    contexts = [_context(layer, n, context) for layer, n in zip(layers, shares, strict=True)]
    return LayeredDesign(
        layers, [setting.make(each) if each.n_players > 1 else None for each in contexts]
    )


def _context(layer: Layer, n_subsets: int | None, context: DesignContext) -> DesignContext:
    """What the design of one layer may know."""
    members, relevance, proxy = layer.members, context.relevance, context.proxy
    return replace(
        context,
        n_players=len(members),
        n_subsets=n_subsets,
        forest=None,
        players=None,
        relevance=None if relevance is None else relevance[members],
        proxy=None if proxy is None else proxy.given(layer.before, members),
        structure=PLAIN,
    )


def _shares(layers: tuple[Layer, ...], n_subsets: int | None) -> list[int | None]:
    """Share the evaluations out; the ends of the layers are evaluated in any case."""
    if n_subsets is None:
        return [None] * len(layers)
    sizes = np.array([len(layer.members) for layer in layers], dtype=np.float64)
    largest = 2.0 ** np.minimum(sizes, LARGEST_EVALUATED) - 2
    given = proportional(n_subsets - len(layers) + 1, sizes, largest)
    if (given[sizes > 1] < _PAIR).any():
        least = len(layers) - 1 + int(np.ceil(_PAIR * sizes.sum() / sizes[sizes > 1].min()))
        raise InputError(
            f"n_subsets={n_subsets} is too few for {len(layers)} layers: {least} would do."
        )
    return [int(n) for n in given]


def proportional(total: int, sizes: FloatArray, most: FloatArray) -> IntArray:
    """Share out a number in proportion to sizes, to none more than ``most``.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.designs.layered import proportional
    >>> proportional(100, np.array([2.0, 5.0, 5.0]), np.array([2.0, 30.0, 1e6])).tolist()
    [2, 30, 68]
    """
    given, is_open = np.zeros(len(sizes)), np.ones(len(sizes), dtype=bool)
    while is_open.any():
        share = (total - given[~is_open].sum()) * sizes / sizes[is_open].sum()
        full = is_open & (share >= most)
        if not full.any():
            given[is_open] = np.floor(share[is_open])
            break
        given[full], is_open = most[full], is_open & ~full
    return given.astype(np.int64)
