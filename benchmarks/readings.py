"""What the paper's words can mean, and what each reading does to the errors.

    python -m benchmarks.readings                          # Table 4: one draw of each experiment
    python -m benchmarks.readings words [--seeds 10] [--trees 500]
    python -m benchmarks.readings words --paper-rows --trees 100 --only published ranger

The first looks for readings of Table 4 that give the paper's errors where ours are far from them:
for pIS/TreeSHAP the value of a subset changes, for pMC/Projected-RF the weights of the least
squares. The second runs SHAFF with each reading that is an option of shaff (`ForestPaths`,
`ForestValues`, the forest's own settings). The first reading of each is shaff's, no other is.
"""

import argparse

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from shaff import ForestPaths, ForestValues, ShapleyEffects
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


def words(n_trees):
    """Readings of the paper's words, by name: settings of `ShapleyEffects.as_published`."""
    forest = paper_forest(n_trees)
    draws = {"n_draws": N_DRAWS, "paired_weights": "published"}
    ranger = RandomForestRegressor(n_trees, max_features="sqrt", min_samples_split=6)
    return {
        "published": {"estimator": forest},
        "set": {"estimator": forest, "design": ForestPaths(**draws, repeats="once")},
        "pairs": {"estimator": forest, "design": ForestPaths(N_DRAWS)},
        "level": {"estimator": ForestValues(forest, error="plain", stop="level")},
        "single": {"estimator": ForestValues(RandomForestRegressor(n_trees, max_features=1 / 3),
                                             error="plain", min_node_size=5)},
        "root": {"estimator": RandomForestRegressor(n_trees, max_features="sqrt",
                                                    min_samples_leaf=5)},
        "ranger": {"estimator": ForestValues(ranger, error="plain", min_node_size=5)},
    }  # fmt: skip


LABELS = {
    "published": "as published",
    "set": "a set: each subset once",
    "pairs": "weights of pairs",
    "level": "stop before a level",
    "single": "trees split down to single rows, cells of 5",
    "root": "mtry = root of p",
    "ranger": "ranger's defaults: mtry = root of p, nodes of 6 are split",
}
ROWS, PAPER_ROWS = {"1a": 1000, "2": 2000}, {"1a": 3000, "2": 10_000}
MAKE = {"1a": experiment_1a, "2": experiment_2}


def words_errors(n_trees, seeds, rows, only):
    """Mean error and v(all) of each reading, on the same data."""
    for name, n in rows.items():
        for label in only:
            settings = words(n_trees)[label]
            found = [one_word(MAKE[name](n, seed), settings, seed) for seed in range(seeds)]
            errors, explained = np.array(found).T
            spread = errors.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
            yield name, n, LABELS[label], errors.mean(), spread, explained.mean()


def one_word(data, settings, seed):
    design = ForestPaths(N_DRAWS, "published")
    est = ShapleyEffects.as_published(**{"design": design, **settings}, random_state=seed)
    result = est.fit(data.X, data.y).result_
    return np.abs(result.effects - data.effects).sum(), result.explained_variance


def show_words(n_trees, seeds, rows, only):
    print("| experiment | rows | reading | error | v(all) |\n|---|---|---|---|---|")
    for name, n, label, error, spread, explained in words_errors(n_trees, seeds, rows, only):
        print(f"| {name} | {n} | {label} | {error:.3f} ± {spread:.3f} | {explained:.3f} |",
              flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", nargs="?", choices=("table-4", "words"), default="table-4")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--paper-rows", action="store_true", help="3000 and 10 000 rows")
    parser.add_argument("--only", nargs="+", choices=LABELS, default=list(LABELS))
    given = parser.parse_args()
    if given.part == "words":
        rows = PAPER_ROWS if given.paper_rows else ROWS
        show_words(given.trees, given.seeds, rows, given.only)
    else:
        show_table_4()


def show_table_4():
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
