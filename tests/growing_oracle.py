"""The histogram booster as one would write it down, without histograms."""

from __future__ import annotations

import heapq
from math import ceil

import numpy as np
from projection_oracle import step_of

MASK = 2**64 - 1
SUPPORT = 10


def scramble(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def drawn_columns(n_columns, share, seed, tree, node):
    """The columns that a node looks at, in the order in which ties are broken."""
    columns, n_drawn = list(range(n_columns)), max(1, ceil(share * n_columns))
    if share == 1:
        return columns
    key = scramble((scramble((scramble(seed) + tree) & MASK) + node) & MASK)
    for k in range(n_drawn):
        place = k + (((scramble((key + k) & MASK) >> 32) * (n_columns - k)) >> 32)
        columns[k], columns[place] = columns[place], columns[k]
    return columns[:n_drawn]


def left_sides(bins, n_bins, categorical, residual, weight, size):
    """All sets of bins that may go left, in the order in which they are tried."""
    has_missing = (bins == n_bins).any()
    if not categorical:
        present = [b for b in range(n_bins) if (bins == b).any()]
        last = n_bins if has_missing else n_bins - 1
        yield from (set(range(b + 1)) for b in present if b < last)
        if has_missing:
            yield from ({*range(b), n_bins} for b in reversed(present) if b > 0)
        return
    sums = {b: (weight[bins == b] @ residual[bins == b], weight[bins == b].sum())
            for b in range(n_bins + 1)}  # fmt: skip
    per_weight = size / weight.sum()
    usable = [b for b, (_, w) in sums.items() if w > 0 and w * per_weight >= SUPPORT]
    order = sorted(usable, key=lambda b: -sums[b][0] / (sums[b][1] + SUPPORT))
    middle = (len(order) + 1) // 2
    if len(order) > 1:
        yield from (set(order[: k + 1]) for k in range(middle))
        yield from (set(order[len(order) - 1 - k :]) for k in range(middle - 1))


def slope_columns(splits, gains, categorical):
    """Up to three numeric columns, those of the largest gains first."""
    total = {}
    # Ties are broken by the order of the nodes, not by that in which they were split.
    for (_, j, _), gain in sorted(zip(splits, gains, strict=True), key=lambda part: part[0][0]):
        if not categorical[j]:
            total[j] = total.get(j, 0.0) + gain
    return sorted(total, key=total.get, reverse=True)[:3]


def grow_tree(bins, n_bins, categorical, residual, weight, booster, seed, tree, values=None):
    """Splits (node, column, bins that go left) in order, and what each row steps by.

    With values, shape (n_columns, n_rows), leaves are linear in them.
    """

    whole = (weight == np.floor(weight)).all()

    def size(rows):
        """Whole weights are repeated rows."""
        return weight[rows].sum() if whole else len(rows)

    def score(rows):
        return (weight[rows] @ residual[rows]) ** 2 / (weight[rows].sum() + booster.shrinkage)

    def best_split(node, rows, own):
        best = (0.0, None, None)
        for j in drawn_columns(len(n_bins), booster.max_features, seed, tree, node):
            for left in left_sides(
                bins[j, rows], n_bins[j], categorical[j], residual[rows], weight[rows], size(rows)
            ):
                goes = np.isin(bins[j, rows], list(left))
                if min(size(rows[goes]), size(rows[~goes])) < booster.min_samples_leaf:
                    continue
                gain = score(rows[goes]) + score(rows[~goes]) - own
                # What differs by rounding is a tie, which the first wins.
                if gain > best[0] + 1e-9 * abs(best[0]):
                    best = (gain, j, left)
        return best

    def push(node, rows, own):
        gain, j, left = best_split(node, rows, own)
        if j is not None and size(rows) >= 2 * booster.min_samples_leaf:
            heapq.heappush(open_leaves, (-gain, node, rows, j, left))
        else:
            leaves.append((rows, node))

    open_leaves, leaves, splits, gains, n_nodes = [], [], [], [], 1
    push(0, np.arange(len(residual)), 0.0)
    while open_leaves:
        loss, node, rows, j, left = heapq.heappop(open_leaves)
        gains.append(-loss)
        goes = np.isin(bins[j, rows], list(left))
        splits.append((node, j, goes.sum()))
        sides = [(rows[goes], n_nodes), (rows[~goes], n_nodes + 1)]
        n_nodes += 2
        if len(splits) + 1 == booster.max_leaf_nodes:
            leaves += sides + [(leaf[2], leaf[1]) for leaf in open_leaves]
            break
        for side, number in sides:
            push(number, side, score(side))
    step = np.zeros(len(residual))
    columns = [] if values is None else slope_columns(splits, gains, categorical)
    x = np.zeros((len(residual), 0)) if values is None else values[columns].T.astype(float)
    slope_shrinkage = (booster.slope_ratio or 0.0) * booster.shrinkage
    for rows, node in leaves:
        if node > 0:
            own = step_of(x[rows], residual[rows], weight[rows], booster.shrinkage, slope_shrinkage)
            step[rows] = booster.learning_rate * own(x[rows])
    return splits, step
