"""Fuzz of the compiled core's border: ``python -m benchmarks.border``, a minute.

Small random problems for each function of `shaff._core`, most of them with one or two arguments
spoilt: wrong numbers, lengths, shapes and types, NaN, nothing at all. Every call must be refused
with an exception, or give what a slow and readable version gives. A crash ends the process.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shaff import _core

Arguments = dict[str, Any]
MISSING = 0xFFFF
REFUSALS = (ValueError, TypeError, OverflowError, MemoryError)


# Problems ---------------------------------------------------------------------------------------


def random_trees(rng: np.random.Generator, n_columns: int) -> tuple[Arguments, np.ndarray]:
    """Children numbered within their tree, and where each tree begins."""
    feature, left, right, offsets = [], [], [], [0]
    for _ in range(rng.integers(0, 4)):
        start, depths = len(feature), [0]
        while len(feature) < start + len(depths):
            node = len(feature) - start
            splits = n_columns > 0 and depths[node] < 4 and rng.random() < 0.8
            feature.append(rng.integers(n_columns) if splits else -1)
            left.append(len(depths) if splits else -1)
            right.append(len(depths) + 1 if splits else -1)
            depths += [depths[node] + 1] * (2 if splits else 0)
        offsets.append(len(feature))
    nodes = {"feature": feature, "left": left, "right": right}
    return {k: np.array(v, dtype=np.int32) for k, v in nodes.items()}, np.array(offsets)


def flags(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2, shape).astype(np.uint8)


def forest_problem(rng: np.random.Generator) -> Arguments:
    n, p, outputs = int(rng.integers(0, 80)), int(rng.integers(0, 4)), int(rng.integers(1, 3))
    nodes, offsets = random_trees(rng, p)
    trees, n_nodes, subsets = len(offsets) - 1, len(nodes["feature"]), int(rng.integers(0, 4))
    code = rng.choice([np.uint16, np.uint32])
    codes = rng.integers(0, 9, (p, n)).astype(code)
    has_missing = flags(rng, p)
    codes[(has_missing[:, None] == 1) & (rng.random((p, n)) < 0.2)] = np.iinfo(code).max
    ranked = rng.random() < 0.5
    orders = [rng.permutation(9) for _ in range(trees * p)]
    return {
        "offsets": offsets,
        **nodes,
        "cut": rng.integers(0, 11, n_nodes).astype(np.uint32),
        "missing_left": flags(rng, n_nodes),
        "codes": codes,
        "has_missing": has_missing,
        "rank_offset": 9 * np.arange(p if ranked else 0),
        "category_rank": np.array(orders, dtype=np.uint32).reshape(trees, 9 * p),
        "bags": rng.poisson(0.7, (trees, n)).astype(np.uint16),
        "row_weight": rng.choice([1.0, 1.0, 2.0, 0.5, 0.0], n),
        "is_query": flags(rng, n),
        "targets": rng.normal(size=(n, outputs)),
        "min_node_size": float(rng.choice([1, 2, 5, 0.5])),
        "first_tree": int(rng.integers(0, trees + 1)),
        "last_tree": trees,
        "subsets": rng.integers(0, 8, (subsets, 1)).astype(np.uint64),
        "sum": np.zeros((subsets, n, outputs)),
        "sum_squares": np.zeros((subsets, n, outputs)),
        "cancel": np.zeros(1, dtype=np.uint8),
    }


def replay_problem(rng: np.random.Generator) -> Arguments:
    n, p, subsets = int(rng.integers(0, 60)), int(rng.integers(0, 4)), int(rng.integers(0, 4))
    nodes, offsets = random_trees(rng, p)
    n_nodes, n_sets = len(nodes["feature"]), int(rng.integers(0, 3))
    start = np.repeat(offsets[:-1], np.diff(offsets)).astype(np.int32)
    codes = rng.integers(0, 9, (p, n)).astype(np.uint16)
    codes[rng.random((p, n)) < 0.1] = MISSING
    return {
        "feature": nodes["feature"],
        "threshold": rng.integers(0, 9, n_nodes).astype(np.uint16),
        "left": nodes["left"] + start,
        "right": nodes["right"] + start,
        "missing_left": flags(rng, n_nodes),
        "category_set": rng.integers(-1, n_sets, n_nodes).astype(np.int32),
        "set_offset": np.arange(n_sets + 1),
        "set_words": rng.integers(0, 512, n_sets).astype(np.uint64),
        "tree_offset": offsets,
        "codes": codes,
        "weight": rng.choice([1.0, 2.0, 0.0], int(rng.integers(0, n + 1))),
        "subsets": rng.integers(0, 8, (subsets, 1)).astype(np.uint64),
        "learning_rate": 0.5,
        "shrinkage": float(rng.choice([0.0, 1.0])),
        "residual": rng.normal(size=(subsets, n)),
        "cancel": np.zeros(1, dtype=np.uint8),
    }


def steps_problem(rng: np.random.Generator) -> Arguments:
    """Learn from some rows, predict others."""
    a = replay_problem(rng)
    (p, n), subsets = a["codes"].shape, len(a["subsets"])
    learners, new, n_trees = (int(rng.integers(0, high)) for high in (4, 9, len(a["tree_offset"])))
    return {
        **a,
        "weight": rng.choice([1.0, 2.0, 0.0], (learners, n)),
        "shrinkage": rng.choice([0.0, 1.0], learners),
        "n_trees": rng.integers(0, n_trees + 1, subsets),
        "new_codes": rng.integers(0, 9, (p, new)).astype(np.uint16),
        "out": np.zeros((learners, subsets, new)),
    }


def learn_and_predict(*, new_codes: Any, out: Any, cancel: Any, **learning: Any) -> None:
    steps = _core.learn_boosting(**learning, cancel=cancel)
    _core.predict_boosting(steps, new_codes, out, cancel)


def growing_problem(rng: np.random.Generator) -> Arguments:
    n, p = int(rng.integers(0, 80)), int(rng.integers(0, 4))
    n_bins = rng.integers(1, 9, p).astype(np.int32)
    return {
        "bins": (rng.random((p, n)) * (n_bins[:, None] + 1)).astype(np.uint8),
        "n_bins": n_bins,
        "categorical": flags(rng, p),
        "weight": rng.choice([1.0, 2.0, 0.0], n if rng.random() < 0.5 else 0),
        "learning_rate": 0.5,
        "shrinkage": float(rng.choice([0.0, 1.0])),
        "max_features": float(rng.choice([0.3, 1.0])),
        "min_samples_leaf": int(rng.integers(1, 6)),
        "max_leaf_nodes": int(rng.integers(2, 9)),
        "first_tree": int(rng.integers(0, 3)),
        "n_trees": int(rng.integers(0, 4)),
        "seed": int(rng.integers(2**63)),
        "residual": rng.normal(size=n),
        "cancel": np.zeros(1, dtype=np.uint8),
    }


def grow(**arguments: Any) -> None:
    """Grow, and put back what the trees have taken: the residuals are as before."""
    trees, residual = _core.grow_trees(**arguments), arguments["residual"]
    found = predicted(arguments["bins"], np.ravel(arguments["n_bins"]), *trees)
    residual += found.reshape(residual.shape)


def expectation_problem(rng: np.random.Generator) -> Arguments:
    n, p, outputs = int(rng.integers(1, 20)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    nodes, offsets = random_trees(rng, p)
    end = offsets[1] if len(offsets) > 1 else 0
    subsets, draws = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    columns = rng.normal(size=(p, n)).astype(np.float32)
    columns[rng.random((p, n)) < 0.1] = np.nan
    return {
        **{name: array[:end].astype(np.int64) for name, array in nodes.items()},
        "threshold": rng.normal(size=end),
        "missing_left": flags(rng, end),
        "cover": rng.integers(1, 9, end).astype(float),
        "value": rng.normal(size=(end, outputs)),
        "columns": columns,
        "rows": rng.permutation(n)[: rng.integers(0, n + 1)].astype(np.int32),
        "background_columns": columns.copy(),
        "background_rows": rng.integers(0, n, (subsets, draws)).astype(np.int32),
        "known": flags(rng, subsets, p),
        "sums": np.zeros((subsets, n, outputs)),
    }


def path_problem(rng: np.random.Generator) -> Arguments:
    nodes, offsets = random_trees(rng, 3)
    return {"offsets": offsets, **nodes, "n_words": 1}


# What is right ----------------------------------------------------------------------------------


def has(words: np.ndarray, column: int) -> bool:
    return bool(int(words[column // 64]) >> (column % 64) & 1)


def project(a: Arguments) -> dict[str, np.ndarray]:
    """Algorithm 1 of the paper for each tree, subset and row."""
    row_weight, shape = a["row_weight"].ravel(), (len(a["subsets"]), *a["targets"].shape)
    total, squares = np.zeros(shape), np.zeros(shape)
    bags = a["bags"].reshape(a["offsets"].size - 1, row_weight.size)
    for tree in range(a["first_tree"], a["last_tree"]):
        bag = bags[tree]
        weight = bag * row_weight
        if not (weight > 0).any():
            continue
        queries = np.flatnonzero((bag == 0) & (a["is_query"].ravel() == 1))
        for k, subset in enumerate(a["subsets"]):
            for row in queries:
                kept = projected_cell(a, tree, subset, row, weight)
                mean = np.average(a["targets"][kept], axis=0, weights=weight[kept])
                total[k, row] += mean
                squares[k, row] += mean**2
    added = {"sum": total, "sum_squares": squares}
    return {name: a[name] + more.reshape(a[name].shape) for name, more in added.items()}


def projected_cell(
    a: Arguments, tree: int, subset: np.ndarray, row: int, weight: np.ndarray
) -> np.ndarray:
    start, kept, level = int(a["offsets"].ravel()[tree]), np.flatnonzero(weight > 0), [0]
    while level:
        below: list[int] = []
        for node in level:
            at = start + node
            column = int(a["feature"].ravel()[at])
            if column < 0:
                continue
            children = int(a["left"].ravel()[at]), int(a["right"].ravel()[at])
            if not has(subset, column):
                below += children
                continue
            left = forest_left(a, tree, at, column)
            same = kept[left[kept] == left[row]]
            if weight[same].sum() < a["min_node_size"]:
                return kept
            kept = same
            below.append(children[0] if left[row] else children[1])
        level = below
    return kept


def forest_left(a: Arguments, tree: int, at: int, column: int) -> np.ndarray:
    """Which rows go left at a node."""
    codes = a["codes"][column].astype(np.int64)
    missing = codes == np.iinfo(a["codes"].dtype).max
    offsets = a["rank_offset"].ravel()
    ranks = codes
    if len(offsets) and offsets[column] >= 0:
        ranks = np.zeros_like(codes)
        own = a["category_rank"][tree]
        ranks[~missing] = own[int(offsets[column]) + codes[~missing]]
    left = ranks < int(a["cut"].ravel()[at])
    goes = bool(a["missing_left"].ravel()[at])
    # Without the flag of its column the code of a missing value is one like any other.
    return np.where(missing & (a["has_missing"].ravel()[column] == 1), goes, left)


def replay(a: Arguments) -> dict[str, np.ndarray]:
    residual, weight = a["residual"].copy(), a["weight"].ravel()
    for root in a["tree_offset"].ravel()[:-1]:
        for k, subset in enumerate(a["subsets"]):
            cells = [reached(a, int(root), subset, row) for row in range(residual.shape[1])]
            for cell in set(cells):
                rows = np.array([i for i, c in enumerate(cells) if c == cell])
                train = rows[rows < len(weight)]
                mass = weight[train].sum()
                if mass > 0:
                    gain = weight[train] @ residual[k, train]
                    residual[k, rows] -= a["learning_rate"] * gain / (mass + a["shrinkage"])
    return {"residual": residual}


def reached(a: Arguments, node: int, subset: np.ndarray, row: int) -> frozenset[int]:
    column = int(a["feature"].ravel()[node])
    if column < 0:
        return frozenset([node])
    left, right = int(a["left"].ravel()[node]), int(a["right"].ravel()[node])
    if not has(subset, column):
        return reached(a, left, subset, row) | reached(a, right, subset, row)
    return reached(a, left if replay_left(a, node, column, row) else right, subset, row)


def replay_left(a: Arguments, node: int, column: int, row: int) -> bool:
    code, chosen = int(a["codes"][column, row]), int(a["category_set"].ravel()[node])
    if code == MISSING:
        at_threshold = chosen < 0 and int(a["threshold"].ravel()[node]) == MISSING
        return bool(a["missing_left"].ravel()[node]) or at_threshold
    if chosen < 0:
        return code <= int(a["threshold"].ravel()[node])
    first, end = a["set_offset"].ravel()[chosen : chosen + 2]
    words = a["set_words"].ravel()[int(first) : int(end)]
    return code < 64 * len(words) and has(words, code)


def learnt(a: Arguments) -> dict[str, np.ndarray]:
    """New rows ride along with the training rows, from 0."""
    n, out = a["codes"].shape[1], np.zeros_like(a["out"])
    codes = np.hstack([a["codes"], a["new_codes"]])
    for (k, u), _ in np.ndenumerate(out[:, :, 0] if out.size else np.zeros(out.shape[:2])):
        some = a["tree_offset"].ravel()[: max(int(a["n_trees"].ravel()[u]), 0) + 1]
        start = np.append(a["residual"][u], np.zeros(out.shape[2]))
        one = {
            "codes": codes,
            "weight": a["weight"][k],
            "shrinkage": float(a["shrinkage"].ravel()[k]),
            "subsets": a["subsets"][u : u + 1],
            "residual": start[None],
            "tree_offset": some,
        }
        out[k, u] = -replay({**a, **one})["residual"][0, n:]
    return {"out": a["out"] + out}


def predicted(
    bins: np.ndarray,
    n_bins: np.ndarray,
    feature: np.ndarray,
    cut: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    missing_left: np.ndarray,
    category_set: np.ndarray,
    value: np.ndarray,
    gain: np.ndarray,
    count: np.ndarray,
    set_words: np.ndarray,
    tree_offset: np.ndarray,
) -> np.ndarray:
    """Sum of the leaves that each row falls into."""

    def goes_left(node: int, bin_: int) -> bool:
        if bin_ == n_bins[feature[node]]:
            return bool(missing_left[node])
        if category_set[node] >= 0:
            return bool(int(set_words[category_set[node], bin_ // 64]) >> (bin_ % 64) & 1)
        return bool(bin_ <= cut[node])

    def leaf(node: int, row: int) -> int:
        while feature[node] >= 0:
            inside = goes_left(node, int(bins[feature[node], row]))
            node = left[node] if inside else right[node]
        return node

    roots = [int(root) for root in tree_offset[:-1]]
    return np.array([sum(value[leaf(root, row)] for root in roots) for row in range(bins.shape[1])])


def unchanged(a: Arguments) -> dict[str, np.ndarray]:
    return {"residual": a["residual"]}


def expectation(a: Arguments) -> dict[str, np.ndarray]:
    sums = a["sums"].copy()
    for k, known in enumerate(a["known"]):
        for row in a["rows"].ravel():
            sums[k, row] += expected(a, 0, known, int(row), a["background_rows"][k])
    return {"sums": sums}


def expected(
    a: Arguments, node: int, known: np.ndarray, row: int, background: np.ndarray
) -> np.ndarray:
    column = int(a["feature"].ravel()[node])
    if column < 0:
        return a["value"][node]
    left, right = int(a["left"].ravel()[node]), int(a["right"].ravel()[node])
    if known[column]:
        side = left if value_left(a, node, a["columns"][column, row]) else right
        return expected(a, side, known, row, background)
    if not a["background_rows"].shape[1]:
        share = a["cover"].ravel()[left] / a["cover"].ravel()[node]
        parts = [expected(a, child, known, row, background) for child in (left, right)]
        return share * parts[0] + (1 - share) * parts[1]
    goes = [value_left(a, node, a["background_columns"][column, b]) for b in background]
    groups = {left: background[goes], right: background[~np.array(goes)]}
    return np.sum(
        [
            len(rows) / len(background) * expected(a, child, known, row, rows)
            for child, rows in groups.items()
            if len(rows)
        ],
        axis=0,
    )


def value_left(a: Arguments, node: int, value: float) -> bool:
    if np.isnan(value):
        return bool(a["missing_left"].ravel()[node])
    return bool(float(value) <= float(a["threshold"].ravel()[node]))


def paths(a: Arguments) -> Arguments:
    counts: Counter[tuple[int, ...]] = Counter()
    for start in a["offsets"].ravel()[:-1]:
        stack: list[tuple[int, tuple[int, ...], frozenset[tuple[int, ...]]]] = [
            (0, (), frozenset())
        ]
        while stack:
            node, above, seen = stack.pop()
            column = int(a["feature"].ravel()[start + node])
            if column < 0:
                counts.update(seen)
                continue
            above = tuple(sorted({*above, column}))
            for side in ("left", "right"):
                stack.append((int(a[side].ravel()[start + node]), above, seen | {above}))
    return {str(columns): count for columns, count in counts.items()}


# Spoiling ---------------------------------------------------------------------------------------


def spoilt(value: Any, rng: np.random.Generator) -> Any:
    """Something else in place of an argument."""
    if not isinstance(value, np.ndarray):
        whole = [0, 1, 2, -1, 10**9, 2**64, None]
        choice = whole if isinstance(value, int) else [0.0, -1.0, np.nan, np.inf, None]
        return choice[rng.integers(len(choice))]
    ways = (other_number, shorter, longer, nothing, other_type, other_shape, not_contiguous)
    return ways[rng.choice(len(ways), p=[0.58, *[0.07] * 6])](value, rng)


def other_number(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not array.size or array.dtype.kind not in "fiu":
        return array
    array = array.copy()
    numbers = [0, 1, 2, 3, 7, 64]
    if array.dtype.kind == "f":
        numbers = [np.nan, np.inf, -np.inf, -1, 0, 1e6]
    elif array.dtype.kind == "i":
        numbers += [-1, -2, np.iinfo(array.dtype).min, np.iinfo(array.dtype).max]
    else:
        numbers += [np.iinfo(array.dtype).max, np.iinfo(array.dtype).max - 1]
    array.flat[rng.integers(array.size)] = numbers[rng.integers(len(numbers))]
    return array


def shorter(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(array.ndim))
    return np.ascontiguousarray(np.delete(array, slice(-1, None), axis=axis))


def longer(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(array.ndim))
    first = np.take(array, range(min(1, array.shape[axis])), axis=axis)
    return np.ascontiguousarray(np.concatenate([array, first], axis=axis))


def nothing(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.zeros([0] * array.ndim, dtype=array.dtype)


def other_type(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return array.astype(rng.choice(["f4", "f8", "i8", "u1", "O", "c16"]))


def other_shape(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return array.ravel() if array.ndim > 1 else array[None]


def not_contiguous(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2]


# The fuzz ---------------------------------------------------------------------------------------

Oracle = Callable[[Arguments], Arguments]
CALLS: dict[str, tuple[Callable[..., Any], Callable[[np.random.Generator], Arguments], Oracle]] = {
    "project_forest": (_core.project_forest, forest_problem, project),
    "replay_boosting": (_core.replay_boosting, replay_problem, replay),
    "learn_boosting": (learn_and_predict, steps_problem, learnt),
    "grow_trees": (grow, growing_problem, unchanged),
    "add_tree_expectation": (_core.add_tree_expectation, expectation_problem, expectation),
    "count_path_subsets": (_core.count_path_subsets, path_problem, paths),
}


def attempt(name: str, seed: int) -> str:
    """One call: "right", "refused" or "WRONG"."""
    rng = np.random.default_rng(seed)
    call, make, oracle = CALLS[name]
    arguments = make(rng)
    kinds = {k: v.dtype for k, v in arguments.items() if isinstance(v, np.ndarray)}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that do not fit their type
        for _ in range(rng.choice(3, p=[0.2, 0.6, 0.2])):
            key = list(arguments)[rng.integers(len(arguments))]
            if key != "cancel":  # one that is set ends the call
                arguments[key] = spoilt(arguments[key], rng)
        try:
            # What is converted is read as the core reads it.
            before = {k: v.astype(kinds[k]) if k in kinds else v for k, v in arguments.items()}
            found = call(**arguments)
        except REFUSALS:
            return "refused"
        expected = oracle(before)
    written = arguments if found is None else by_set(*found)
    return "right" if same(written, expected) else "WRONG"


def by_set(words: np.ndarray, counts: np.ndarray) -> Arguments:
    """Counts of the sets of columns."""
    columns = range(64 * words.shape[1])
    sets = [tuple(j for j in columns if has(row, j)) for row in words]
    return dict(zip(map(str, sets), counts, strict=True))


def same(found: Arguments, expected: Arguments) -> bool:
    return all(
        name in found and np.allclose(found[name], value, rtol=1e-6, atol=1e-8, equal_nan=True)
        for name, value in expected.items()
    )


def attempts(first_seed: int) -> Iterator[tuple[str, int, str]]:
    """Without end: the function, the seed, and how it went."""
    seed = first_seed
    while True:
        for name in CALLS:
            yield name, seed, attempt(name, seed)
        seed += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    faulthandler.enable()
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    end = time.monotonic() + args.seconds
    for name, seed, outcome in attempts(args.seed):
        counts[name, outcome] += 1
        if outcome == "WRONG":
            wrong.append((name, seed))
        if time.monotonic() > end:
            break
    print(f"kernel {_core.kernel_name()}, {args.seconds:.0f} s")
    for name in CALLS:
        found = ", ".join(f"{counts[name, o]} {o}" for o in ("right", "refused", "WRONG"))
        print(f"  {name:22s}{found}")
    for name, seed in wrong[:10]:
        print(f"  wrong: {name}, seed {seed}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
