"""Proportional marginal effects, once every subset has been evaluated (Herin et al. 2024).

With ``w(A) = v(all) - v(all without A)``, what is lost without A, they are the proportional value
of w: ``P(nothing) = 1``, ``P(A) = w(A) / sum_i 1 / P(A without i)``, and the effect of i is
``P(all) / P(all without i)``. The effects sum to v(all). An input that no other needs, because
others say all that it says, has 0.

Sets with w(A) = 0 are taken by the limit of a common small w: then P(A) is of the order of its
power by the largest such set inside A, and only the terms of the highest power count.

Subsets are numbered by their bits: player j is in subset A if ``A >> j & 1``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from shaff._util.typing import BoolArray, FloatArray, IntArray


class Losses(NamedTuple):
    """What is lost without each set of players, made monotone.

    Parameters
    ----------
    w : float array of shape (..., 2 ** n_players)
    sources : int array of shape (2, ..., 2 ** n_players)
        The two sets whose loss, as given, each entry is the mean of; -1 stands for 0.
    """

    w: FloatArray
    sources: IntArray


def monotone_losses(v: FloatArray) -> Losses:
    """Return the losses w(A) of a game with values ``v`` of shape (..., 2 ** n_players).

    Losses are kept between 0 and v(all). Where an estimate falls as A grows, it is replaced by the
    mean of the largest loss of its subsets and of the smallest of its supersets.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.marginal import monotone_losses
    >>> monotone_losses(np.array([0.0, 0.5, 0.25, 0.75])).w.tolist()
    [0.0, 0.5, 0.25, 0.75]
    """
    raw = v[..., -1:] - v[..., ::-1]
    places = np.broadcast_to(np.arange(v.shape[-1]), v.shape)
    source = np.where(raw < 0, -1, np.where(raw > raw[..., -1:], v.shape[-1] - 1, places))
    w = np.clip(raw, 0.0, np.maximum(raw[..., -1:], 0.0))
    below, lower = _extreme(w, source, largest=True)
    above, upper = _extreme(w, source, largest=False)
    return Losses((below + above) / 2, np.stack([lower, upper]))


def _extreme(w: FloatArray, source: IntArray, *, largest: bool) -> tuple[FloatArray, IntArray]:
    """The largest loss of the subsets of each set, or the smallest of its supersets, and whose."""
    w, source = w.copy(), source.copy()
    n_players = w.shape[-1].bit_length() - 1
    codes = np.arange(w.shape[-1])
    for j in range(n_players):
        with_j = codes[(codes >> j & 1) == 1]
        mine, other = (with_j, with_j ^ (1 << j)) if largest else (with_j ^ (1 << j), with_j)
        better = w[..., other] > w[..., mine] if largest else w[..., other] < w[..., mine]
        w[..., mine] = np.where(better, w[..., other], w[..., mine])
        source[..., mine] = np.where(better, source[..., other], source[..., mine])
    return w, source


def zero_sets(w: FloatArray, errors: FloatArray) -> BoolArray:
    """Return which sets lose nothing: no more than their errors, and neither do their subsets.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.marginal import zero_sets
    >>> zero_sets(np.array([0.0, 0.01, 0.3, 0.31]), np.full(4, 0.02)).tolist()
    [True, True, False, False]
    """
    zero = np.asarray(w <= errors)
    codes = np.arange(w.shape[-1])
    for j in range(w.shape[-1].bit_length() - 1):
        with_j = codes[(codes >> j & 1) == 1]
        zero[..., with_j] &= zero[..., with_j ^ (1 << j)]
    return zero


class Potential(NamedTuple):
    """The potential P of all sets, as ``exp(log) * small ** power``.

    Parameters
    ----------
    log : float array of shape (..., 2 ** n_players)
    power : int array of shape (..., 2 ** n_players)
        Size of the largest set inside that loses nothing.
    """

    log: FloatArray
    power: IntArray

    def effects(self) -> FloatArray:
        """Return the effects of all players, shape (..., n_players)."""
        n_sets = self.log.shape[-1]
        without = (n_sets - 1) ^ (1 << np.arange(n_sets.bit_length() - 1))
        same = self.power[..., -1:] == self.power[..., without]
        return np.where(same, np.exp(self.log[..., -1:] - self.log[..., without]), 0.0)


def potential(w: FloatArray, zero: BoolArray) -> Potential:
    """Return the potential of losses, some of which count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.marginal import potential
    >>> w = np.array([0.0, 0.5, 0.25, 0.75])
    >>> potential(w, w == 0).effects().round(12).tolist()
    [0.5, 0.25]
    """
    log, power = np.zeros(w.shape), np.zeros(w.shape, dtype=np.int64)
    for sets, smaller in _by_size(w.shape[-1].bit_length() - 1):
        size = smaller.shape[1]
        highest, terms = _terms(log, power, smaller)
        nothing = zero[..., sets]
        loss = np.where(nothing, 1.0, w[..., sets])
        whole = np.log(loss) - logsumexp(terms, axis=-1)
        log[..., sets] = np.where(nothing, -gammaln(size + 1), whole)
        power[..., sets] = np.where(nothing, size, highest)
    return Potential(log, power)


def _terms(log: FloatArray, power: IntArray, smaller: IntArray) -> tuple[IntArray, FloatArray]:
    """The highest power of the smaller sets, and the logs of 1 / P of those that have it."""
    powers = power[..., smaller]
    highest = powers.max(axis=-1)
    return highest, np.where(powers == highest[..., None], -log[..., smaller], -np.inf)


def gradient(w: FloatArray, zero: BoolArray) -> FloatArray:
    """Return the derivative of each effect by each loss, shape (n_players, 2 ** n_players).

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.marginal import gradient
    >>> w = np.array([0.0, 0.5, 0.25, 0.75])
    >>> gradient(w, w == 0).round(12)[0].tolist()
    [0.0, 0.333333333333, -0.666666666667, 0.666666666667]
    """
    found = potential(w, zero)
    n_players, n_sets = w.shape[-1].bit_length() - 1, w.shape[-1]
    # Derivatives of log P(all), then of log P(all without i): what flows down from the top.
    flow = np.zeros((n_players + 1, n_sets))
    flow[0, -1] = 1.0
    flow[1 + np.arange(n_players), (n_sets - 1) ^ (1 << np.arange(n_players))] = 1.0
    for sets, smaller in reversed(_by_size(n_players)):
        terms = _terms(found.log, found.power, smaller)[1]
        shares = np.exp(terms - logsumexp(terms, axis=-1, keepdims=True))
        shares[zero[sets]] = 0.0
        parts = flow[:, sets, None] * shares
        np.add.at(flow.T, smaller.ravel(), parts.reshape(n_players + 1, -1).T)
    by_loss = np.where(zero, 0.0, flow / np.where(zero, 1.0, w))
    return np.asarray(found.effects()[:, None] * (by_loss[0] - by_loss[1:]))


def by_values(slopes: FloatArray, sources: IntArray) -> FloatArray:
    """Turn derivatives by the losses of `monotone_losses` into derivatives by the values v.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.solve.marginal import by_values, monotone_losses
    >>> sources = monotone_losses(np.array([0.0, 0.5, 0.25, 0.75])).sources
    >>> by_values(np.array([[0.0, 1.0, 0.0, 0.0]]), sources).tolist()
    [[0.0, 0.0, -1.0, 1.0]]
    """
    by_loss = np.zeros_like(slopes)
    for source in sources:
        known = source >= 0
        np.add.at(by_loss.T, source[known], slopes.T[known] / 2)
    found = 0.0 - by_loss[:, ::-1]
    found[:, -1] += by_loss.sum(axis=1)
    return found


@lru_cache(maxsize=4)
def _by_size(n_players: int) -> tuple[tuple[IntArray, IntArray], ...]:
    """The sets of each size from 1 on, and for each set those with one player less."""
    codes = np.arange(2**n_players)
    bits = (codes[:, None] >> np.arange(n_players)) & 1
    sizes = bits.sum(axis=1)
    found = []
    for size in range(1, n_players + 1):
        sets = codes[sizes == size]
        members = np.nonzero(bits[sets])[1].reshape(len(sets), size)
        found.append((sets, sets[:, None] ^ (1 << members)))
    return tuple(found)
