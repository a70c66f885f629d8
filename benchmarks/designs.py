"""Which subsets, and what to make of them: every design with the true v.

    python -m benchmarks.designs [--quick] [--repeats 20] [--problem NAME] [--calibration]

Pure design error: the cumulative absolute error of the effects against the truth when v is
exact, or carries independent noise of sd 0.01 (the same for a subset whenever it is asked). The
truth does not depend on data, so the repetitions are over the seeds of the designs; those of the
random games, which are not in the paper, are over games and seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from benchmarks.games import KINDS, KnownGame, random_game
from shaff._util.typing import FloatArray
from shaff.datasets import experiment_1a, experiment_1b, experiment_2
from shaff.designs.forest_paths import ForestPathsDesign, path_subsets
from shaff.designs.gaussian_process import GaussianProcessDesign
from shaff.designs.leverage import LeverageDesign
from shaff.designs.monte_carlo import MonteCarloDesign
from shaff.designs.permutations import PermutationDesign
from shaff.gaussian_process.linear_game import Proxy, linear_proxy
from shaff.protocols import Design, Effects, Proposal, Solver, Values
from shaff.screening import screen
from shaff.solve.gaussian_process import GaussianProcessSolver
from shaff.solve.least_squares import LeastSquaresSolver
from shaff.solve.permutations import PermutationSolver
from shaff.subsets import Subsets
from shaff.trees.forest import read_forest

BUDGETS = (50, 100, 200, 500, 1000)
NOISE = 0.01


@dataclass(frozen=True, eq=False)
class Training:
    """Data of a problem, for the designs that learn from data, with what they learn."""

    X: FloatArray
    y: FloatArray

    @cached_property
    def paths(self) -> tuple[Subsets, FloatArray]:
        """Subsets along the paths of a forest as in the paper, but of 100 trees."""
        forest = RandomForestRegressor(
            100, max_features=1 / 3, min_samples_leaf=5, random_state=0
        ).fit(self.X, self.y)
        return path_subsets(read_forest(forest.estimators_, self.X.shape[1]))

    @cached_property
    def proxy(self) -> Proxy:
        return linear_proxy(self.X, self.y)


@dataclass(frozen=True)
class Problem:
    """A game to solve for each seed, with data where there are some."""

    name: str
    games: Callable[[int], KnownGame]
    train: Callable[[int], Training] | None = None


@dataclass(frozen=True)
class Method:
    """A design with the solver that goes with it."""

    name: str
    make: Callable[[int, int, int, Any], tuple[Design, Solver]]
    needs_data: bool = False
    max_players: int = 1000


def noisy_values(game: KnownGame, subsets: Subsets, noise: float, seed: int) -> Values:
    """Values with noise that is a function of the subset and the seed alone."""
    v = game.game(subsets.masks())
    if noise:
        v = v + noise * np.array([_standard_normal(key, seed) for key in subsets.keys()])
    return Values(subsets, v)


def _standard_normal(key: bytes, seed: int) -> float:
    digest = blake2b(key, digest_size=8, salt=seed.to_bytes(8, "little")).digest()
    return float(np.random.default_rng(int.from_bytes(digest, "little")).standard_normal())


def run(
    game: KnownGame, method: Method, budget: int, noise: float, seed: int, data: Any = None
) -> tuple[Effects, float]:
    """Solve one game; returns the effects and the seconds spent outside of v."""
    started, outside = time.perf_counter(), 0.0
    p = game.n_players
    full = Subsets.full(p)
    history = Values(full, game.game(full.masks()))
    design, solver = method.make(p, budget, seed, data)
    proposals = []
    while (proposal := design.propose(history)) is not None:
        proposals.append(proposal)
        asked = time.perf_counter()
        evaluated = noisy_values(game, proposal.subsets, noise, seed)
        outside += time.perf_counter() - asked
        history = Values.concatenate([history, evaluated])
    effects = solver.solve(Proposal.concatenate(proposals), history.v[1:], float(history.v[0]))
    return effects, time.perf_counter() - started - outside


def gaussian_process(proxy: bool) -> Callable[..., Any]:
    def make(p: int, budget: int, seed: int, data: Any) -> Any:
        prior = data.proxy if proxy else None
        design = GaussianProcessDesign(p, budget, random_state=seed, proxy=prior)
        return design, GaussianProcessSolver(proxy=prior)

    return make


def permutations(kind: str) -> Callable[..., Any]:
    def make(p: int, budget: int, seed: int, data: Any) -> Any:
        return PermutationDesign(p, budget, kind, seed), PermutationSolver()

    return make


def forest_paths(paired_weights: str) -> Callable[..., Any]:
    def make(p: int, budget: int, seed: int, data: Any) -> Any:
        design = ForestPathsDesign(*data.paths, None, budget, paired_weights, seed)
        return design, LeastSquaresSolver()

    return make


def sampled(design: Callable[..., Design], solver: Callable[[], Solver], **options: Any) -> Any:
    return lambda p, budget, seed, data: (design(p, budget, random_state=seed, **options), solver())


def methods() -> list[Method]:
    plain = sampled(MonteCarloDesign, LeastSquaresSolver, exhaust_borders=False)
    return [
        Method("paper, printed weights", forest_paths("published"), needs_data=True),
        Method("paper, w/q weights", forest_paths("pair"), needs_data=True),
        Method("Monte-Carlo, plain", plain),
        Method("Monte-Carlo, borders", sampled(MonteCarloDesign, LeastSquaresSolver)),
        Method("leverage", sampled(LeverageDesign, LeastSquaresSolver)),
        Method("permutations, antithetic", permutations("antithetic")),
        Method("permutations, orthogonal", permutations("orthogonal")),
        Method("leverage, GP solver", sampled(LeverageDesign, GaussianProcessSolver)),
        Method("Gaussian process", gaussian_process(proxy=False)),
        Method("Gaussian process, linear proxy", gaussian_process(proxy=True), True, 50),
    ]


def problems() -> list[Problem]:
    return [
        Problem("experiment 1a", _experiment(experiment_1a), _data(experiment_1a)),
        Problem("experiment 1b, screened", _screened_1b, _screened_1b_data),
        Problem("experiment 1b, all 100", _experiment(experiment_1b), _data(experiment_1b)),
        Problem("experiment 2", _experiment(experiment_2), _data(experiment_2)),
        *(Problem(f"random: {kind}", _random(kind)) for kind in KINDS),
    ]


def _experiment(make: Callable[..., Any]) -> Callable[[int], KnownGame]:
    exp = make(n=10, random_state=0)
    return lambda seed: KnownGame(make.__name__, exp.game, exp.effects)


def _data(make: Callable[..., Any]) -> Callable[[int], Training]:
    @cache
    def data(seed: int) -> Training:
        exp = make(random_state=seed)
        return Training(exp.X, exp.y)

    return data


def _random(kind: str) -> Callable[[int], KnownGame]:
    return lambda seed: random_game(kind, 12, 1000 + seed)


@cache
def _screened_1b(seed: int) -> KnownGame:
    """The game of the variables that the screen keeps on simulated data."""
    exp = experiment_1b(random_state=seed)
    kept = np.flatnonzero(screen(exp.X, exp.y, fewest=0))
    missed = np.delete(exp.effects, kept)
    if missed.any():
        # Then the effects of the smaller game are others, and the error shows it.
        print(f"  (seed {seed}: the screen missed {np.count_nonzero(missed)} variables)")

    def game(masks: Any) -> FloatArray:
        whole = np.zeros((len(masks), len(exp.effects)), dtype=bool)
        whole[:, kept] = masks
        return exp.game(whole)

    return KnownGame("experiment 1b", game, exp.effects[kept])


@cache
def _screened_1b_data(seed: int) -> Training:
    exp = experiment_1b(random_state=seed)
    return Training(exp.X[:, screen(exp.X, exp.y, fewest=0)], exp.y)


def errors(
    problem: Problem, method: Method, budget: int, noise: float, repeats: int
) -> Iterator[float]:
    for seed in range(repeats):
        game = problem.games(seed)
        data = problem.train(seed) if method.needs_data and problem.train else None
        effects, _ = run(game, method, budget, noise, seed, data)
        yield float(np.abs(effects.effects - game.effects).sum())


def cell(problem: Problem, method: Method, budget: int, noise: float, repeats: int) -> str:
    try:
        found = np.array(list(errors(problem, method, budget, noise, repeats)))
    except ValueError:
        # One order of 100 players, and its reverse, takes 198 evaluations.
        return "-"
    return f"{found.mean():.4f} ({found.std():.4f})"


def table(
    problem: Problem, chosen: list[Method], noise: float, budgets: tuple[int, ...], repeats: int
) -> None:
    print(f"\n{problem.name}, noise sd {noise:g}: mean (sd) of {repeats}, by evaluations of v")
    print(f"{'':32s}" + "".join(f"{b:>18d}" for b in budgets))
    for method in chosen:
        if method.needs_data and problem.train is None:
            continue
        if problem.games(0).n_players > method.max_players:
            continue
        cells = (f"{cell(problem, method, b, noise, repeats):>18s}" for b in budgets)
        print(f"{method.name:32s}" + "".join(cells), flush=True)


def calibration(repeats: int) -> None:
    """Coverage of 1.96 standard errors of the Gaussian process on random games."""
    method = next(m for m in methods() if m.name == "Gaussian process")
    print("\ncoverage of effect +- 1.96 standard errors, Gaussian process, random games, p = 12")
    print(f"{'':32s}" + "".join(f"{b:>12d}" for b in (60, 100, 200, 400)))
    for kind in KINDS:
        for noise in (0.0, NOISE):
            row = []
            for budget in (60, 100, 200, 400):
                inside = []
                for seed in range(repeats):
                    game = random_game(kind, 12, 5000 + seed)
                    effects, _ = run(game, method, budget, noise, seed)
                    assert effects.covariance is not None
                    bar = 1.96 * np.sqrt(np.maximum(np.diag(effects.covariance), 0))
                    inside.append(np.abs(effects.raw - game.effects) <= bar)
                row.append(f"{np.mean(inside):>12.3f}")
            print(f"{f'{kind}, noise {noise:g}':32s}" + "".join(row), flush=True)


def timing() -> None:
    """Seconds spent by the Gaussian process itself, without the evaluation of v."""
    method = next(m for m in methods() if m.name == "Gaussian process")
    print("\nGaussian process overhead (s), design and solver, one BLAS thread")
    exp = {15: experiment_1a(n=10, random_state=0), 100: experiment_1b(n=10, random_state=0)}
    for p, budget in ((15, 200), (15, 500), (15, 1000), (100, 500), (100, 1000)):
        game = KnownGame("", exp[p].game, exp[p].effects)
        seconds = [run(game, method, budget, 0.0, seed)[1] for seed in range(3)]
        print(f"p = {p:4d}, {budget:5d} evaluations: {np.median(seconds):7.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="3 repeats, up to 200 evaluations")
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    parser.add_argument("--problem", default="", help="only problems whose name holds this")
    parser.add_argument("--method", default="", help="only methods whose name holds this")
    parser.add_argument("--calibration", action="store_true", help="only the error bars")
    parser.add_argument("--timing", action="store_true", help="only the overhead")
    args = parser.parse_args()
    repeats = 3 if args.quick else args.repeats
    budgets = BUDGETS[:3] if args.quick else tuple(args.budgets)
    everything = not (args.calibration or args.timing or args.problem)
    if args.timing or everything:
        timing()
    if args.calibration or everything:
        calibration(repeats)
    chosen = [method for method in methods() if args.method in method.name]
    for problem in problems():
        if everything or (args.problem and args.problem in problem.name):
            for noise in (0.0, NOISE):
                table(problem, chosen, noise, budgets, repeats)


if __name__ == "__main__":
    main()
