"""Interactions against brute force, on experiment 2, and how often their intervals hold the truth.

    python -m benchmarks.interactions                       # all parts, into interactions.jsonl
    python -m benchmarks.interactions --parts blocks --seeds 0 5 --out runs.jsonl
    python -m benchmarks.interactions --report runs.jsonl

Each run leaves a line in the file and prints one; runs that the file already has are skipped.

- brute: eight inputs, the default estimator. The indices from 126 and from 200 of the 254 subsets
  beside those from all of them; the largest difference over the 28 pairs.
- blocks: experiment 2 (n = 10 000, 15 inputs), all defaults. Do the pairs of inputs (1, 2, 3) lead,
  and how many of the 25 pairs across the two blocks have 0 in their 95 % interval; the same for
  all pairs whose true index is 0, and how many of all 105 intervals hold the truth.
- coverage: functions of `benchmarks.cases` (n = 1000), all defaults: how many of the 95 % intervals
  of the 15 pairs hold the true index, all and those above 0.02; false positives among the nulls.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks.cases import CASES, P
from benchmarks.lines import Record, run_parts
from shaff import ShapleyEffects
from shaff._util.statistics import symmetric
from shaff._util.typing import BoolArray, FloatArray
from shaff.datasets import experiment_1a, experiment_2, load_diabetes
from shaff.designs.exhaustive import ExhaustiveDesign
from shaff.results.interactions import Interactions
from shaff.solve.interactions import interaction_map

PARTS = ("brute", "blocks", "coverage")
BRUTE = ("experiment 1a", "experiment 2", "diabetes")
COVERED = ("ishigami", "friedman", "additive")
LARGE = 0.02


def true_indices(v: FloatArray, p: int) -> FloatArray:
    """Indices of a game by its values of all subsets, bit j of the position being player j."""
    order = ExhaustiveDesign(p).subsets.masks() @ (1 << np.arange(p))
    return symmetric(interaction_map(ExhaustiveDesign(p).subsets) @ np.append(v[order], v[-1]), p)


def eight_columns(data: str, seed: int) -> tuple[FloatArray, FloatArray]:
    if data == "diabetes":
        X, y, _ = load_diabetes()
        return X[:, :8], y
    make = {"experiment 1a": experiment_1a, "experiment 2": experiment_2}[data]
    exp = make(n=1000, random_state=seed)
    return exp.X[:, :8], exp.y


def brute(data: str, seed: int) -> Record:
    """The design's answers beside that of all subsets, on one fit."""
    est = ShapleyEffects(n_subsets=60, random_state=seed).fit(*eight_columns(data, seed))
    some = {n: est.interactions(n_subsets=n) for n in (126, 200)}
    exact = est.interactions(n_subsets=254)
    return {
        "largest": float(np.abs(exact.values).max()),
        **{f"apart_{n}": float(np.abs(i.values - exact.values).max()) for n, i in some.items()},
    }


def blocks(seed: int) -> Record:
    """Experiment 2 with all defaults."""
    exp = experiment_2(random_state=seed)
    started = time.process_time()
    est = ShapleyEffects(random_state=seed).fit(exp.X, exp.y)
    fitted = time.process_time()
    found = est.interactions()
    truth = _blocks_truth(exp.game)
    pairs, (low, high) = found.pairs, found.confidence_interval()
    true = truth[pairs[:, 0], pairs[:, 1]]
    first, second = pairs.T
    across = (first < 5) & (second >= 5) & (second < 10)
    around = (low <= 0) & (high >= 0)
    top = {tuple(pairs[k].tolist()) for k in found.order[:3]}
    return {
        "lead": top == {(0, 1), (0, 2), (1, 2)},
        "across": float(around[across].mean()),
        "zeros": float(around[true == 0].mean()),
        "covers": float(((low <= true) & (true <= high)).mean()),
        "error": float(np.abs(found.pair_values - true).max()),
        "n_subsets": found.n_subsets,
        "cpu_ratio": (time.process_time() - fitted) / (fitted - started),
    }


def _blocks_truth(game) -> FloatArray:
    """The two blocks add up: indices within each, and 0 elsewhere."""
    truth = np.zeros((15, 15))
    masks = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(bool)
    for start in (0, 5):
        wide: BoolArray = np.zeros((32, 15), dtype=bool)
        wide[:, start : start + 5] = masks
        truth[start : start + 5, start : start + 5] = true_indices(game(wide), 5)
    # What cancels but for rounding is 0.
    return np.where(np.abs(truth) < 1e-12, 0.0, truth)


def coverage(case: str, seed: int) -> Record:
    """One data set of a case."""
    X, y = CASES[case].draw(1000, seed)
    found = ShapleyEffects(random_state=seed).fit(X, y).interactions()
    return {**_held(found, true_indices(CASES[case].values(), P)), "case": case}


def _held(found: Interactions, truth: FloatArray) -> Record:
    true = truth[tuple(found.pairs.T)]
    low, high = found.confidence_interval()
    held, large = (low <= true) & (true <= high), np.abs(true) > LARGE
    null = np.abs(true) < 1e-3
    return {
        "covers": float(held.mean()),
        "covers_large": float(held[large].mean()) if large.any() else None,
        "length": float((high - low).mean()),
        "false_positives": float((found.null_test(None)[null] < 0.05).mean())
        if null.any()
        else None,
        "error": float(np.abs(found.pair_values - true).mean()),
    }


def run(part: str, **key) -> Record:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        record = {"brute": brute, "blocks": blocks, "coverage": coverage}[part](**key)
    shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()}
    print(part, key, shown, flush=True)
    return record


def keys(part: str, seeds: range) -> list[Record]:
    if part == "brute":
        return [{"data": d, "seed": s} for d in BRUTE for s in seeds]
    if part == "coverage":
        return [{"case": c, "seed": s} for c in COVERED for s in seeds]
    return [{"seed": s} for s in seeds]


def report(records: list[Record]) -> None:
    """A line a part, or a case of it."""
    for data in BRUTE:
        some = [r for r in records if r["part"] == "brute" and r["data"] == data]
        if some:
            worst = {n: max(r[f"apart_{n}"] for r in some) for n in (126, 200)}
            largest = max(r["largest"] for r in some)
            print(f"brute force, {data}, p = 8, {len(some)} fits: largest index {largest:.3f}, "
                  f"largest difference {worst[126]:.4f} with 126 subsets of 254, "
                  f"{worst[200]:.4f} with 200")  # fmt: skip
    some = [r for r in records if r["part"] == "blocks"]
    if some:
        mean = {k: np.mean([r[k] for r in some]) for k in some[0] if k not in ("part", "seed")}
        print(f"experiment 2, {len(some)} fits: pairs of (1, 2, 3) lead in {mean['lead']:.0%}; "
              f"0 in the interval of {mean['across']:.1%} of the pairs across the blocks "
              f"(least {min(r['across'] for r in some):.0%}), "
              f"of {mean['zeros']:.1%} of all true 0; "
              f"{mean['covers']:.1%} hold the truth; {mean['n_subsets']:.0f} subsets, "
              f"{mean['cpu_ratio']:.2f} times the CPU time of fit")  # fmt: skip
    for case in COVERED:
        some = [r for r in records if r["part"] == "coverage" and r["case"] == case]
        if some:
            print(f"{case}, {len(some)} data sets: " + ", ".join(
                f"{name} {np.mean(known):.3f}"
                for name in ("covers", "covers_large", "false_positives", "length", "error")
                if (known := [r[name] for r in some if r[name] is not None])
            ))  # fmt: skip


def main() -> None:
    run_parts(__doc__, PARTS, keys, run, report, out="interactions.jsonl", seeds=5)


if __name__ == "__main__":
    main()
