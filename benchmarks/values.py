"""How near the values of subsets are to their closed form, and what they cost.

Run as ``python -m benchmarks.values [section ...] [--quick]``. Every figure of one run comes from
the same data and the same subsets; times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from shaff.data.problem import Problem
from shaff.datasets import Experiment, experiment_1a, experiment_2
from shaff.protocols import Proposal
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.subsets import Subsets
from shaff.trees.growing import GrownForest
from shaff.values.boosting.default_booster import default_booster
from shaff.values.boosting.projected_boosting import ProjectedBoosting
from shaff.values.forest.projected_forest import ProjectedForest

SEEDS = (1, 2, 3)
N_RETRAINED = 50
BARS = {"1a": 0.012, "1a constant start": 0.035, "1a transformed": 0.030, "2": 0.030}


def all_sizes(n_players: int, n_subsets: int, seed: int) -> Subsets:
    """Random subsets, each size from 1 to p equally likely."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((n_subsets, n_players), dtype=bool)
    for mask in masks:
        mask[rng.permutation(n_players)[: rng.integers(1, n_players + 1)]] = True
    return Subsets.from_masks(masks)


def transformed(exp: Experiment) -> Experiment:
    """Monotone transforms of the inputs, exp, cube and arctan in turn: the truth stays."""
    functions = [np.exp, lambda x: x**3, np.arctan]
    X = np.column_stack([functions[j % 3](x) for j, x in enumerate(exp.X.T)])
    return Experiment(X, exp.y, exp.effects, exp.names, exp.game)


def case(name: str, seed: int) -> tuple[Experiment, str]:
    """The data of a case and the start that it asks for."""
    if name == "2":
        return experiment_2(random_state=seed), "auto"
    exp = experiment_1a(random_state=seed)
    if name == "1a transformed":
        return transformed(exp), "auto"
    return exp, "constant" if name == "1a constant start" else "auto"


def rmse(v: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((v - truth) ** 2)))


def retrained(model: object, exp: Experiment, subsets: Subsets, n_folds: int = 5) -> np.ndarray:
    """Held-out explained variance of the model fitted anew on each subset."""
    v = []
    for mask in subsets.masks():
        error = 0.0
        for train, test in KFold(n_folds, shuffle=True, random_state=0).split(exp.X):
            fitted = clone(model).fit(exp.X[train][:, mask], exp.y[train])
            error += ((exp.y[test] - fitted.predict(exp.X[test][:, mask])) ** 2).sum()
        v.append(1 - error / len(exp.y) / exp.y.var(ddof=1))
    return np.array(v)


def projected_forest(exp: Experiment, n_trees: int) -> ProjectedForest:
    model = RandomForestRegressor(
        n_trees, max_features=1 / 3, min_samples_leaf=5, random_state=0, n_jobs=1
    ).fit(exp.X, exp.y)
    return ProjectedForest(Problem.of(exp.X, exp.y), GrownForest.of_fitted(model, len(exp.X)))


def accuracy(quick: bool) -> None:
    """RMSE of v over 500 subsets of all sizes, beside PRF and retrained models."""
    seeds, n_subsets = (SEEDS[:1], 100) if quick else (SEEDS, 500)
    print(f"RMSE of v over {n_subsets} subsets of all sizes, mean of {len(seeds)} seed(s)")
    for name, bar in BARS.items():
        errors, forests, chosen = [], [], []
        for seed in seeds:
            exp, start = case(name, seed)
            subsets = all_sizes(exp.X.shape[1], n_subsets, seed)
            truth = exp.value(subsets)
            boosting = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=seed), start=start)
            errors.append(rmse(boosting.values(subsets).v, truth))
            forests.append(rmse(projected_forest(exp, 100).values(subsets).v, truth))
            chosen.append(f"{boosting.start_}/{boosting.n_trees_}")
        each = " ".join(f"{error:.4f}" for error in errors)
        how, forest = ", ".join(chosen), np.mean(forests)
        print(f"  {name:18s} projected boosting {np.mean(errors):.4f} (bar {bar:.3f}; {each};"
              f" start/trees {how})   projected forest {forest:.4f}")  # fmt: skip


def retraining(quick: bool) -> None:
    """The same on a fixed 50 of the subsets, beside models fitted anew on each of them."""
    names = ["1a"] if quick else ["1a", "2"]
    n_subsets = 10 if quick else N_RETRAINED
    print(f"RMSE of v over {n_subsets} subsets, one seed, beside retrained models")
    for name in names:
        exp, start = case(name, SEEDS[0])
        subsets = all_sizes(exp.X.shape[1], 500, SEEDS[0])[:n_subsets]
        truth = exp.value(subsets)
        boosting = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=0), start=start)
        n_trees = boosting.n_trees_ or 250
        booster = scikit_learn_booster(len(exp.y), n_trees)
        forest = RandomForestRegressor(100, max_features=1 / 3, min_samples_leaf=5, random_state=0)
        with threadpool_limits(1):
            anew = {"forest": retrained(forest, exp, subsets),
                    f"boosting ({n_trees} trees)": retrained(booster, exp, subsets)}  # fmt: skip
        print(f"  {name}: projected boosting {rmse(boosting.values(subsets).v, truth):.4f}",
              f"projected forest {rmse(projected_forest(exp, 100).values(subsets).v, truth):.4f}",
              *(f"retrained {key} {rmse(v, truth):.4f}" for key, v in anew.items()))  # fmt: skip


def cost(quick: bool) -> None:
    """One subset against refitting that booster on the same folds, one thread each."""
    print("cost of one subset and of refitting that booster on the same folds, one thread")
    for name, start in (("1a", "constant"), ("2", "constant")):
        exp, _ = case(name, SEEDS[0])
        if quick:
            exp = Experiment(exp.X[:2000], exp.y[:2000], exp.effects, exp.names, exp.game)
        boosting = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=0), start=start)
        subsets = all_sizes(exp.X.shape[1], 192, 0)
        price = min(timed(lambda b=boosting, s=subsets: b.values(s)) for _ in range(3)) / 192
        refit = min(timed(lambda b=boosting, e=exp: refit_folds(b, e)) for _ in range(2))
        print(f"  {name} n = {len(exp.y)}, {boosting.n_trees_} trees x 5 folds: subset "
              f"{1e3 * price:.2f} ms, refit {refit:.2f} s, 1/{refit / price:.0f}")  # fmt: skip


def refit_folds(boosting: ProjectedBoosting, exp: Experiment) -> None:
    booster = scikit_learn_booster(len(exp.y), boosting.n_trees_)
    with threadpool_limits(1):
        for fold in boosting.folds:
            clone(booster).fit(exp.X[fold.train], exp.y[fold.train])


def scikit_learn_booster(n_rows: int, n_trees: int) -> HistGradientBoostingRegressor:
    """The default booster as scikit-learn would grow it."""
    ours = default_booster(n_rows)
    return HistGradientBoostingRegressor(
        max_iter=n_trees,
        learning_rate=ours.learning_rate,
        max_leaf_nodes=ours.max_leaf_nodes,
        min_samples_leaf=ours.min_samples_leaf,
        l2_regularization=ours.shrinkage,
        max_features=ours.max_features,
        early_stopping=False,
        random_state=0,
    )


def timed(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def growth(quick: bool) -> None:
    """Time in n, p and the number of subsets; 100 trees, constant start."""
    print("growth (100 trees x 5 folds, constant start, one thread): ms per subset")
    rng = np.random.default_rng(0)
    base, booster = (2000, 15, 64), scikit_learn_booster(2000, 100)
    grid = {
        "n": [(n, 15, 64) for n in ((1000, 2000, 4000) if quick else (1000, 4000, 16_000, 64_000))],
        "p": [(2000, p, 64) for p in ((15, 60) if quick else (15, 60, 240))],
        "subsets": [(2000, 15, m) for m in (16, 64, 256, 1024)],
    }
    for label, cases in grid.items():
        parts = []
        for n, p, m in cases:
            X = rng.standard_normal((n, p))
            y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(n)
            problem = Problem.of(X, y, random_state=0)
            boosting = ProjectedBoosting(
                problem, estimator=booster, start="constant", shrinkage=3.0
            )
            seconds = timed(lambda b=boosting, p=p, m=m: b.values(all_sizes(p, m, 0)))
            size = dict(zip(("n", "p", "subsets"), (n, p, m), strict=True))[label]
            parts.append(f"{size}: {1e3 * seconds / m:.2f}")
        print(f"  in {label} (else n, p, subsets = {base}):  " + "   ".join(parts))


def paired_design(n_players: int, n_subsets: int, seed: int) -> Subsets:
    """Subsets drawn by the Shapley kernel, with their complements, each once."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(1, n_players)
    probability = 1 / (sizes * (n_players - sizes))
    masks = np.zeros((n_subsets // 2, n_players), dtype=bool)
    for mask in masks:
        size = rng.choice(sizes, p=probability / probability.sum())
        mask[rng.permutation(n_players)[:size]] = True
    half = Subsets.from_masks(masks)
    pairs = Subsets.concatenate([half, half.complement()])
    return pairs.with_log_weight(np.zeros(len(pairs))).unique()


def effects(boosting: ProjectedBoosting, n_subsets: int, seed: int) -> np.ndarray:
    """Unconstrained effects from a kernel-weighted design, the same for every value function."""
    subsets = paired_design(boosting.n_players, n_subsets, seed)
    v, v_all = boosting.values(subsets).v, boosting.explained_variance()
    return LeastSquaresSolver().solve(Proposal(subsets), v, v_all).raw


def solved(boosting: ProjectedBoosting, seed: int) -> np.ndarray:
    """Raw effects by the Gaussian process, whose design error is far below the value error."""
    subsets = paired_design(boosting.n_players, 400, seed)
    v, v_all = boosting.values(subsets).v, boosting.explained_variance()
    return GaussianProcessSolver().solve(Proposal(subsets), v, v_all).raw


def copies(quick: bool) -> None:
    """Effects of a variable and its copies, and of noise, on 1a; mean of 5 seeds."""
    seeds = range(11, 12 if quick else 16)
    for start in ("auto", "constant"):
        found = []
        for seed in seeds:
            exp = experiment_1a(random_state=seed)
            boosting = ProjectedBoosting(Problem.of(exp.X, exp.y, random_state=seed), start=start)
            found.append(solved(boosting, seed))
        mean = np.mean(found, axis=0)
        original, first, second = mean[[1, 11, 12]]
        worst = np.ptp([original, first, second])
        print(f"copies on 1a, start {start}, mean of {len(seeds)} seed(s): "
              f"X2 {original:.4f}, its copies {first:.4f} {second:.4f} "
              f"(apart by {worst:.4f}, bar 0.01; truth {exp.effects[1]:.4f}); "
              f"noise {mean[13]:+.4f} {mean[14]:+.4f} (bar 0.005)")  # fmt: skip


def agreement(quick: bool) -> None:
    """Effects by the boosters of four libraries, constant start, cumulative differences."""
    from catboost import CatBoostRegressor
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    n_trees = 50 if quick else 250
    libraries = {
        "HistGradientBoosting": scikit_learn_booster(3000, n_trees),
        "LightGBM": LGBMRegressor(n_estimators=n_trees, learning_rate=0.07, num_leaves=20,
                                  min_child_samples=5, reg_lambda=5.0,
                                  feature_fraction_bynode=0.5),
        "XGBoost": XGBRegressor(n_estimators=n_trees, learning_rate=0.07, max_leaves=20,
                                max_depth=0, grow_policy="lossguide", min_child_weight=5,
                                reg_lambda=5.0, colsample_bynode=0.5),
        "CatBoost": CatBoostRegressor(iterations=n_trees, learning_rate=0.15, depth=6,
                                      l2_leaf_reg=3.0, rsm=0.5),
    }  # fmt: skip
    for name in ("1a constant start", "2"):
        exp, _ = case(name, SEEDS[0])
        problem, found = Problem.of(exp.X, exp.y, random_state=0), {}
        for library, model in libraries.items():
            boosting = ProjectedBoosting(problem, estimator=model, start="constant")
            found[library] = effects(boosting, 400, 0)
            error = np.abs(found[library] - exp.effects).sum()
            print(f"  {name}: {library:21s} v(all) {found[library].sum():.4f}, "
                  f"cumulative error {error:.4f}")  # fmt: skip
        apart = max(np.abs(a - b).sum() for a in found.values() for b in found.values())
        print(f"  {name}: largest cumulative difference {apart:.4f} (bar 0.08)")


SECTIONS = {
    "accuracy": accuracy,
    "retraining": retraining,
    "cost": cost,
    "growth": growth,
    "copies": copies,
    "agreement": agreement,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"any of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small data, few subsets")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section: {', '.join(sorted(unknown))}")
    for name in arguments.sections or SECTIONS:
        SECTIONS[name](arguments.quick)


if __name__ == "__main__":
    main()
