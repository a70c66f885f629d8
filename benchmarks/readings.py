"""Which readings of Table 4 give the paper's errors where ours are far from them?

Run as ``python -m benchmarks.readings``: one draw of each experiment. For pIS/TreeSHAP the price
of a subset changes, for pMC/Projected-RF the weights of the least squares. The first reading of
each is shaff's definition, no other is.
"""

import numpy as np

from shaff.data.problem import Problem
from shaff.datasets import experiment_1a, experiment_2
from shaff.designs.forest_paths import ForestPathsDesign, path_subsets
from shaff.designs.kernel_draws import KernelDrawsDesign
from shaff.protocols import Proposal
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.subsets import Subsets, log_kernel_weight
from shaff.trees.forest import read_forest
from shaff.trees.kinds import paper_forest
from shaff.values.forest.grown import published_forest
from shaff.values.models.held_out import HeldOut, fit_held_out
from shaff.values.published.tree_expectation import held_out_expectation, no_background

TREE_SHAP = {"1a": 1.18, "2": 1.49}
PAIRED_DRAWS = {"1a": 0.55, "2": 0.29}
N_TREES, N_DRAWS, BLOCK, SEED = 50, 500, 16, 100


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


def weights(drawn):
    """Readings of the weights of paired draws from the Shapley kernel, by name."""
    kernel = log_kernel_weight(drawn.sizes, drawn.n_players)
    return {
        "drawn by the kernel, weights = counts (ours)": drawn.log_weight,
        "drawn by the kernel, weighted by it once more": drawn.log_weight + kernel,
    }


def tree_shap_errors(experiment):
    """Of every reading of the prices, along paths of the forest."""
    held_out = fit_held_out(paper_forest(N_TREES), experiment.X, experiment.y[:, None], seed=SEED)
    paths = path_subsets(read_forest(held_out.predictors, 15))
    design = ForestPathsDesign(*paths, N_DRAWS, paired_weights="published", random_state=SEED)
    drawn, solver = design.draw(), LeastSquaresSolver()
    subsets = Subsets.concatenate([drawn.subsets, Subsets.full(15)])
    for label, v in prices(experiment, held_out, subsets).items():
        yield label, error(experiment, solver.solve(drawn, v[:-1], float(v[-1])))


def paired_draws_errors(experiment):
    """Of every reading of the weights, evaluated by the projected forest."""
    problem = Problem.of(experiment.X, experiment.y, random_state=SEED)
    forest = published_forest(problem, paper_forest(N_TREES)).values
    drawn = KernelDrawsDesign(15, N_DRAWS, SEED, paired=True).subsets
    v, v_all = forest.values(drawn).v, float(forest.values(Subsets.full(15)).v[0])
    for label, log_weight in weights(drawn).items():
        weighted = Proposal(drawn.with_log_weight(log_weight))
        solved = LeastSquaresSolver().solve(weighted, v, v_all)
        yield label, error(experiment, solved)


def error(experiment, solved):
    return np.abs(solved.effects - experiment.effects).sum()


def main():
    print("| Table 4 | reading | experiment | error | paper |\n|---|---|---|---|---|")
    for name, experiment in (("1a", experiment_1a(2000, SEED)), ("2", experiment_2(4000, SEED))):
        for row, errors, printed in (
            ("pIS/TreeSHAP", tree_shap_errors, TREE_SHAP),
            ("pMC/Projected-RF", paired_draws_errors, PAIRED_DRAWS),
        ):
            for label, found in errors(experiment):
                print(f"| {row} | {label} | {name} | {found:.2f} | {printed[name]} |", flush=True)


if __name__ == "__main__":
    main()
