"""Which reading of Table 4's pIS/TreeSHAP gives the paper's 1.18 (1a) and 1.49 (2)?

Run as ``python -m benchmarks.tree_shap``: one draw of each experiment, the paper's subsets and
least squares; only the price of a subset changes. The first is shaff's definition, no other is.
"""

import numpy as np

from shaff.datasets import experiment_1a, experiment_2
from shaff.designs.forest_paths import ForestPathsDesign, path_subsets
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.subsets import Subsets
from shaff.trees.forest import read_forest
from shaff.values.held_out import HeldOut, fit_held_out, paper_forest
from shaff.values.tree_expectation import held_out_expectation, no_background

PAPER = {"1a": 1.18, "2": 1.49}
N_TREES, BLOCK, SEED = 50, 16, 100


def conditional_means(held_out, X, subsets):
    """TreeSHAP's expectation of each subset, shape (n_subsets, n_rows)."""
    masks = subsets.masks()
    blocks = [masks[start : start + BLOCK] for start in range(0, len(masks), BLOCK)]
    means = [held_out_expectation(held_out, X, b, no_background(len(b))) for b in blocks]
    return np.concatenate(means)[:, :, 0]


def prices(experiment, held_out, subsets):
    """Readings of v(U), by name, each with v(all) at the end."""
    y, n = experiment.y, len(experiment.y)
    seen = HeldOut(held_out.predictors, [np.arange(n, dtype=np.int32)] * N_TREES, n)
    out_of_bag = conditional_means(held_out, experiment.X, subsets)
    in_sample = conditional_means(seen, experiment.X, subsets)
    variance = y.var(ddof=1)
    v = 1 - ((y - out_of_bag) ** 2).mean(axis=1) / variance
    unexplained = np.append(1 - v[:-1], v[-1])
    return {
        "out of bag, 1 - error / Var(y) (ours)": v,
        "in sample, 1 - error / Var(y)": 1 - ((y - in_sample) ** 2).mean(axis=1) / variance,
        "out of bag, Var(m_U) / Var(y)": out_of_bag.var(axis=1) / variance,
        "in sample, Var(m_U) / Var(y)": in_sample.var(axis=1) / variance,
        "out of bag, not divided by Var(y)": np.append(v[:-1] * variance, v[-1]),
        "the unexplained share 1 - v(U) as v(U)": unexplained,
    }


def main():
    print("| v(U) | experiment | error | paper |\n|---|---|---|---|")
    for name, experiment in (("1a", experiment_1a(2000, SEED)), ("2", experiment_2(4000, SEED))):
        held_out = fit_held_out(
            paper_forest(N_TREES), experiment.X, experiment.y[:, None], seed=SEED
        )
        paths = path_subsets(read_forest(held_out.predictors, 15))
        design = ForestPathsDesign(*paths, 500, paired_weights="published", random_state=SEED)
        drawn = design.draw()
        subsets = Subsets.concatenate([drawn, Subsets.full(15)])
        for label, v in prices(experiment, held_out, subsets).items():
            solver = LeastSquaresSolver(active=design.active)
            effects = solver.solve(drawn, v[:-1], float(v[-1])).effects
            error = np.abs(effects - experiment.effects).sum()
            print(f"| {label} | {name} | {error:.2f} | {PAPER[name]} |", flush=True)


if __name__ == "__main__":
    main()
