"""Simulators with known effects: error and coverage of `explain_simulator`, beside others.

    python -m benchmarks.simulators [--cases ishigami] [--n 1000] [--seeds 0 20] [--points sobol]

Ishigami's function and the g-function of Sobol', with independent inputs and a Gaussian copula.
Beside shaff, at as many runs: SALib's Shapley effects (independent inputs only; left out if SALib
is not installed), pick-freeze estimates of all subsets by hand, on Sobol' points, and an oracle
that knows the conditional means at the points of shaff, with the variance of the outputs there.
With ``--labelled 8192``, the learner of shaff predicts the outputs at so many further points, which
are explained in turn: what more points would bring, were the function what the learner says it is.
Errors are sums of absolute errors of the effects; coverage is that of 95 % intervals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import uniform

from benchmarks.oracle import conditional_means
from shaff import EffectsResult, ShapleyEffects, explain_simulator
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.points import normal_correlation, uniform_points
from shaff.datasets import shapley_values

# Points of one scrambling (a power of two), and scramblings, of the true values.
POWER, SCRAMBLINGS = 16, 8
# Seeds of further points, which are not those of any run.
LABELLED_SEEDS = 1000
SLOPES = np.array([0.0, 1.0, 4.5, 9.0, 99.0, 99.0])
PEERS = ("shaff", "SALib", "pick-freeze", "oracle", "labelled")


def ishigami(x: FloatArray) -> FloatArray:
    """Inputs of shape (3, n)."""
    return np.asarray(np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0]))


def g_sobol(x: FloatArray) -> FloatArray:
    """Inputs of shape (6, n)."""
    slopes = SLOPES[:, None]
    return np.asarray(np.prod((np.abs(4 * x - 2) + slopes) / (1 + slopes), axis=0))


@dataclass(frozen=True, eq=False)
class SimulatorCase:
    """A function of uniform inputs between two ends, and their rank correlations."""

    name: str
    signal: Callable[[FloatArray], FloatArray]
    low: float
    high: float
    ranks: FloatArray

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.ranks)

    @property
    def is_independent(self) -> bool:
        """Whether the inputs are independent."""
        return bool((self.ranks == np.eye(self.n_inputs)).all())

    @cached_property
    def correlation(self) -> FloatArray:
        """Correlation of the latent normals."""
        return normal_correlation(self.ranks)

    def margins(self, normals: FloatArray) -> FloatArray:
        """Inputs of latent normals, both of shape (n_inputs, n)."""
        return self.low + (self.high - self.low) * ndtr(normals)

    def latent(self, x: FloatArray) -> FloatArray:
        """The latent normals of inputs."""
        return np.asarray(ndtri((x - self.low) / (self.high - self.low)))

    def game(self, value: Callable[[BoolArray], float]) -> FloatArray:
        """Effects of the values of all subsets."""
        return shapley_values(lambda masks: np.array([value(m) for m in masks]), self.n_inputs)

    @cached_property
    def effects(self) -> FloatArray:
        """The true effects, by integration."""
        found = [self.pick_freeze(2**POWER, seed) for seed in range(SCRAMBLINGS)]
        return np.mean(found, axis=0)

    def pick_freeze(self, n: int, seed: int) -> FloatArray:
        """Effects from Cov(f(X), f(X')), where X and X' share the inputs of a subset: ``n`` pairs
        for each subset."""
        points = uniform_points(n, 2 * self.n_inputs, "sobol", np.random.default_rng(seed))
        first, again = np.split(ndtri(points.T), 2)
        normals = np.linalg.cholesky(self.correlation) @ first
        y = self.signal(self.margins(normals))

        def value(mask: BoolArray) -> float:
            other = self.signal(self.margins(self._redrawn(normals, again, mask)))
            mean = (y + other).mean() / 2  # of Janon and others
            spread = (y**2 + other**2).mean() / 2 - mean**2
            return float(((y * other).mean() - mean**2) / spread)

        return self.game(lambda mask: 0.0 if not mask.any() else 1.0 if mask.all() else value(mask))

    def _redrawn(self, normals: FloatArray, again: FloatArray, mask: BoolArray) -> FloatArray:
        """The inputs outside of a subset drawn anew, given those in it."""
        known, free = np.flatnonzero(mask), np.flatnonzero(~mask)
        across = self.correlation[np.ix_(free, known)]
        slopes = across @ np.linalg.inv(self.correlation[np.ix_(known, known)])
        rest = self.correlation[np.ix_(free, free)] - slopes @ across.T
        drawn = normals.copy()
        drawn[free] = slopes @ normals[known] + np.linalg.cholesky(rest) @ again[free]
        return drawn

    def oracle(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Effects by the true conditional means at given points."""
        normals, away = self.latent(x), y - y.mean()

        def value(mask: BoolArray) -> float:
            first, second = (conditional_means(self, mask, normals, k) for k in (0, 1))
            return float(1 - np.mean((y - first) * (y - second)) / (away @ away / (len(y) - 1)))

        return self.game(lambda mask: value(mask) if mask.any() else 0.0)


def _autoregressive(n_inputs: int, rank: float) -> FloatArray:
    return np.asarray(rank ** np.abs(np.subtract.outer(np.arange(n_inputs), np.arange(n_inputs))))


_ISHIGAMI = (ishigami, -np.pi, np.pi)
_G_SOBOL = (g_sobol, 0.0, 1.0)
CASES = {
    case.name: case
    for case in (
        SimulatorCase("ishigami", *_ISHIGAMI, np.eye(3)),
        SimulatorCase("g_sobol", *_G_SOBOL, np.eye(6)),
        SimulatorCase("ishigami_copula", *_ISHIGAMI, _autoregressive(3, 0.5)),
        SimulatorCase("g_sobol_copula", *_G_SOBOL, _autoregressive(6, 0.5)),
    )
}


@dataclass(frozen=True, eq=False)
class Estimate:
    """Effects, and whether each interval covers the truth; None without intervals."""

    effects: FloatArray
    covered: BoolArray | None = None


@dataclass(frozen=True)
class Options:
    """How points are drawn, and how many further ones are labelled."""

    points: str
    n_labelled: int | None

    def draw(self, case: SimulatorCase, n: int, seed: int) -> dict[str, Any]:
        """Arguments of `explain_simulator`."""
        names = [f"x{j}" for j in range(case.n_inputs)]
        ranks = None if case.is_independent else case.ranks
        margins = dict.fromkeys(names, uniform(case.low, case.high - case.low))
        how = {"points": self.points, "vectorised": True, "random_state": seed}
        return {"inputs": margins, "correlation": ranks, "n": n, **how}


def estimates(case: SimulatorCase, n: int, seed: int, options: Options) -> dict[str, Estimate]:
    """What each of the peers finds with n runs."""
    runs = explain_simulator(lambda x: case.signal(x.T), **options.draw(case, n, seed))
    found = {"shaff": _with_coverage(case, runs.result)}
    if case.is_independent and find_spec("SALib") is not None:
        found["SALib"] = salib(case, n, seed)
    found["pick-freeze"] = Estimate(case.pick_freeze(n // (2**case.n_inputs - 1), seed))
    found["oracle"] = Estimate(case.oracle(np.asarray(runs.X).T, runs.y))
    if options.n_labelled is not None:
        learner = ShapleyEffects(random_state=seed).fit(np.asarray(runs.X), runs.y)
        further = options.draw(case, options.n_labelled, LABELLED_SEEDS + seed)
        labelled = explain_simulator(lambda x: learner.explain(x).predictions, **further)
        found["labelled"] = _with_coverage(case, labelled.result)
    return found


def _with_coverage(case: SimulatorCase, result: EffectsResult) -> Estimate:
    interval = result.confidence_interval()
    covered = (interval.low <= case.effects) & (case.effects <= interval.high)
    return Estimate(result.effects, covered)


def salib(case: SimulatorCase, n: int, seed: int) -> Estimate:
    """Goda's estimator, with as many trajectories as n runs allow."""
    from SALib.analyze import shapley as analyze
    from SALib.sample import shapley as sample

    p = case.n_inputs
    names = [f"x{j}" for j in range(p)]
    problem = {"num_vars": p, "names": names, "bounds": [[case.low, case.high]] * p}
    X = sample.sample(problem, n // (p + 1), seed=seed)
    found = analyze.analyze(problem, X, case.signal(X.T))
    away = np.abs(found["shapley_normalized"] - case.effects)
    return Estimate(found["shapley_normalized"], away <= found["shapley_normalized_conf"])


def line(case: SimulatorCase, n: int, seeds: range, options: Options) -> str:
    """One line of the table: mean errors, ratios to shaff, coverage."""
    found = [estimates(case, n, seed, options) for seed in seeds]
    errors = {
        peer: np.mean([np.abs(f[peer].effects - case.effects).sum() for f in found])
        for peer in found[0]
    }
    coverage = {
        peer: np.mean([f[peer].covered for f in found])
        for peer in ("shaff", "SALib", "labelled")
        if peer in found[0]
    }
    words = [f"{case.name:16s} {n:5d}", *(_beside(errors, peer) for peer in PEERS)]
    return "   ".join([*words, *(f"{peer} {share:.3f}" for peer, share in coverage.items())])


def _beside(errors: dict[str, float], peer: str) -> str:
    if peer not in errors:
        return f"{'-':>13s}"
    return f"{errors[peer]:.4f} ({errors['shaff'] / errors[peer]:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 20))
    parser.add_argument("--points", choices=("sobol", "latin_hypercube"), default="sobol")
    parser.add_argument("--labelled", type=int)
    options = parser.parse_args()
    how = Options(options.points, options.labelled)
    print("error (ratio of shaff's to it) of", ", ".join(PEERS), "and coverage where there is one")
    for name in options.cases:
        print(f"{name}: true effects {CASES[name].effects.round(4).tolist()}", flush=True)
        for n in options.n:
            print(line(CASES[name], n, range(*options.seeds), how), flush=True)


if __name__ == "__main__":
    main()
