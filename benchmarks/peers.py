"""Who gets the credit? shaff, shap, permutation importance and SAGE on data with known effects.

    pip install shap sage-importance
    python -m benchmarks.peers [--rows 1000] [--seeds 3]

The truth is the exact Shapley effect of every input: its fair share of the variance of y under the
dependence of the data. The peers explain a gradient boosting of scikit-learn as their guides do:
mean |SHAP| of the tree explainer, permutation importance and SAGE (marginal imputer, squared error)
on a quarter of the rows that the model has not seen. shaff gets the whole table and no model. All
importances are scaled to sum to 1, since the peers have no common unit; the error is the part of
the credit that goes to wrong inputs, half of the sum of absolute differences. Time is that of the
processor, model included, means over the seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import sage
import shap
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from shaff import ShapleyEffects
from shaff.datasets import Experiment, experiment_1a, experiment_2

CASES = {
    "linear, correlated, three copies": experiment_1a,
    "interactions, correlated": experiment_2,
}
# Rows that stand for the inputs that SAGE leaves out, and how long it runs: about as long as shaff;
# till it is content with its own error bars it takes many minutes.
BACKGROUND = 64
SAGE = {"n_permutations": 1024, "detect_convergence": False, "bar": False}


def by_shaff(data: Experiment, seed: int) -> np.ndarray:
    return ShapleyEffects(random_state=seed).fit(data.X, data.y).effects_


def fitted(data: Experiment, seed: int):
    X, X_new, y, y_new = train_test_split(data.X, data.y, test_size=0.25, random_state=seed)
    return HistGradientBoostingRegressor(random_state=seed).fit(X, y), X, X_new, y_new


def by_shap(data: Experiment, seed: int) -> np.ndarray:
    model, _, X_new, _ = fitted(data, seed)
    return np.abs(shap.TreeExplainer(model).shap_values(X_new)).mean(axis=0)


def by_permutation(data: Experiment, seed: int) -> np.ndarray:
    model, _, X_new, y_new = fitted(data, seed)
    found = permutation_importance(model, X_new, y_new, n_repeats=10, random_state=seed)
    return found.importances_mean


def by_sage(data: Experiment, seed: int) -> np.ndarray:
    model, X, X_new, y_new = fitted(data, seed)
    imputer = sage.MarginalImputer(model.predict, X[:BACKGROUND])
    estimator = sage.PermutationEstimator(imputer, "mse", random_state=seed)
    return estimator(X_new, y_new, **SAGE).values


PEERS: dict[str, Callable[[Experiment, int], np.ndarray]] = {
    "shaff": by_shaff,
    "shap, mean abs. value": by_shap,
    "permutation importance": by_permutation,
    "sage-importance": by_sage,
}


def wrong_credit(found: np.ndarray, effects: np.ndarray) -> float:
    """The part of the credit that goes to wrong inputs; nobody has less than none."""
    shares = np.maximum(found, 0.0)
    return float(np.abs(shares / shares.sum() - effects / effects.sum()).sum() / 2)


def measure(peer: Callable, case: Callable, rows: int, seeds: int) -> tuple[float, float]:
    """Mean error and processor seconds."""
    errors, start = [], time.process_time()
    for seed in range(seeds):
        data = case(n=rows, random_state=seed)
        errors.append(wrong_credit(peer(data, seed), data.effects))
    return float(np.mean(errors)), (time.process_time() - start) / seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| credit to wrong inputs, {given.rows} rows | {' | '.join(CASES)} |")
    print(f"|---|{'---|' * len(CASES)}")
    for name in given.peers:
        cells = [measure(PEERS[name], case, given.rows, given.seeds) for case in CASES.values()]
        shown = " | ".join(f"{100 * error:.0f} % ({seconds:.1f} s)" for error, seconds in cells)
        print(f"| {name} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
