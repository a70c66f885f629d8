"""Simulators with known effects: error and coverage of `explain_simulator`, beside others.

    python -m benchmarks.simulators [--cases ishigami] [--n 1000] [--seeds 0 20] [--points sobol]
                                    [--keep FILE]

Ishigami's function and the g-function of Sobol', with independent inputs and a Gaussian copula; and
by ``--cases`` five functions by which the labelling of further points was chosen: rational, hinges,
waves, jump, powers. Beside shaff, at as many runs:

- "runs alone": shaff without labelled points (``n_labelled=0``);
- SALib's Shapley effects, and those of OpenTURNS by hand: a chaos expansion, whose grouped Sobol'
  indices are the values of the subsets. Both are for independent inputs, and left out if they are
  not installed (``pip install SALib openturns``; nothing else of shaff needs them);
- pick-freeze estimates of all subsets by hand, on Sobol' points;
- an oracle that knows the conditional means at the points of the runs, with the variance of the
  outputs there.

Errors are sums of absolute errors of the effects; coverage and width are those of 95 % intervals.
With ``--keep`` every seed leaves a line in the file, and what it has is not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import uniform

from benchmarks.oracle import conditional_means
from shaff import EffectsResult, explain_simulator
from shaff._util.typing import BoolArray, FloatArray
from shaff.data.points import normal_correlation, uniform_points
from shaff.datasets import shapley_values

# Points of one scrambling (a power of two), and scramblings, of the true values.
POWER, SCRAMBLINGS = 16, 8
SLOPES = np.array([0.0, 1.0, 4.5, 9.0, 99.0, 99.0])
PEERS = ("shaff", "runs alone", "SALib", "OpenTURNS", "pick-freeze", "oracle")


def ishigami(x: FloatArray) -> FloatArray:
    """Inputs of shape (3, n)."""
    return np.asarray(np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0]))


def g_sobol(x: FloatArray) -> FloatArray:
    """Inputs of shape (6, n)."""
    slopes = SLOPES[:, None]
    return np.asarray(np.prod((np.abs(4 * x - 2) + slopes) / (1 + slopes), axis=0))


# Functions by which the labelling was chosen: uniform inputs between 0 and 1.


def rational(x: FloatArray) -> FloatArray:
    return np.asarray(x[0] / (0.3 + x[1] + 0.5 * x[2] * x[3]))


def hinges(x: FloatArray) -> FloatArray:
    kinks = np.maximum(x[0] + x[1] - 1.1, 0) - np.maximum(x[2] - x[3], 0)
    return np.asarray(kinks + 0.3 * x[4])


def waves(x: FloatArray) -> FloatArray:
    return np.asarray(np.sin(4 * np.pi * x[0]) + np.sin(3 * np.pi * x[1]) * x[2] + x[3])


def jump(x: FloatArray) -> FloatArray:
    return np.asarray(1.0 * (x[0] > 0.4) + x[1] * x[2] + 0.5 * np.cos(4 * x[3]))


def powers(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(1.5 * x[0] * x[1]) + np.sin(5 * x[2]) * x[3] + x[4] ** 2 * x[0])


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


def _equal(n_inputs: int, rank: float) -> FloatArray:
    return np.where(np.eye(n_inputs, dtype=bool), 1.0, rank)


_ISHIGAMI = (ishigami, -np.pi, np.pi)
_G_SOBOL = (g_sobol, 0.0, 1.0)
NAMED = ("ishigami", "g_sobol", "ishigami_copula", "g_sobol_copula")
CASES = {
    case.name: case
    for case in (
        SimulatorCase("ishigami", *_ISHIGAMI, np.eye(3)),
        SimulatorCase("g_sobol", *_G_SOBOL, np.eye(6)),
        SimulatorCase("ishigami_copula", *_ISHIGAMI, _autoregressive(3, 0.5)),
        SimulatorCase("g_sobol_copula", *_G_SOBOL, _autoregressive(6, 0.5)),
        SimulatorCase("rational", rational, 0.0, 1.0, _equal(4, 0.4)),
        SimulatorCase("hinges", hinges, 0.0, 1.0, _autoregressive(5, 0.6)),
        SimulatorCase("waves", waves, 0.0, 1.0, _equal(4, 0.5)),
        SimulatorCase("jump", jump, 0.0, 1.0, _autoregressive(4, 0.4)),
        SimulatorCase("powers", powers, 0.0, 1.0, _equal(5, 0.3)),
    )
}


# What is kept of one estimate: its error, and coverage and width of its intervals, if it has any.
Figures = dict[str, float]


def figures(case: SimulatorCase, n: int, seed: int, points: str) -> dict[str, Figures]:
    """What each of the peers finds with n runs."""
    given = arguments(case, n, seed, points)

    def f(x: FloatArray) -> FloatArray:
        return case.signal(x.T)

    alone = explain_simulator(f, **given, n_labelled=0)
    found = {
        "shaff": _with_intervals(case, explain_simulator(f, **given).result),
        "runs alone": _with_intervals(case, alone.result),
        "pick-freeze": _error(case, case.pick_freeze(n // (2**case.n_inputs - 1), seed)),
        "oracle": _error(case, case.oracle(np.asarray(alone.X).T, alone.y)),
    }
    if case.is_independent and find_spec("SALib") is not None:
        found["SALib"] = salib(case, n, seed)
    if case.is_independent and find_spec("openturns") is not None:
        found["OpenTURNS"] = _error(case, openturns(case, np.asarray(alone.X), alone.y))
    return found


def arguments(case: SimulatorCase, n: int, seed: int, points: str) -> dict[str, Any]:
    """Arguments of `explain_simulator`."""
    names = [f"x{j}" for j in range(case.n_inputs)]
    ranks = None if case.is_independent else case.ranks
    margins = dict.fromkeys(names, uniform(case.low, case.high - case.low))
    how = {"points": points, "vectorised": True, "random_state": seed}
    return {"inputs": margins, "correlation": ranks, "n": n, **how}


def _error(case: SimulatorCase, effects: FloatArray) -> Figures:
    return {"error": float(np.abs(effects - case.effects).sum())}


def _with_intervals(case: SimulatorCase, result: EffectsResult) -> Figures:
    low, high = result.confidence_interval()[:2]
    covered = (low <= case.effects) & (case.effects <= high)
    lengths = {"coverage": float(covered.mean()), "width": float((high - low).mean())}
    return {**_error(case, result.effects), **lengths}


def salib(case: SimulatorCase, n: int, seed: int) -> Figures:
    """Goda's estimator, with as many trajectories as n runs allow."""
    from SALib.analyze import shapley as analyze
    from SALib.sample import shapley as sample

    p = case.n_inputs
    names = [f"x{j}" for j in range(p)]
    problem = {"num_vars": p, "names": names, "bounds": [[case.low, case.high]] * p}
    X = sample.sample(problem, n // (p + 1), seed=seed)
    found = analyze.analyze(problem, X, case.signal(X.T))
    effects, half = found["shapley_normalized"], found["shapley_normalized_conf"]
    covered = np.abs(effects - case.effects) <= half
    lengths = {"coverage": float(np.mean(covered)), "width": float(np.mean(2 * half))}
    return {**_error(case, effects), **lengths}


def openturns(case: SimulatorCase, X: FloatArray, y: FloatArray) -> FloatArray:
    """Effects by a chaos expansion with the settings of OpenTURNS, on the same runs."""
    import openturns as ot

    inputs = ot.JointDistribution([ot.Uniform(case.low, case.high)] * case.n_inputs)
    algorithm = ot.FunctionalChaosAlgorithm(ot.Sample(X), ot.Sample(y[:, None]), inputs)
    algorithm.run()
    indices = ot.FunctionalChaosSobolIndices(algorithm.getResult())

    def value(mask: BoolArray) -> float:
        members = [int(j) for j in np.flatnonzero(mask)]
        return indices.getSobolGroupedIndex(members) if members else 0.0

    return case.game(value)


class Kept:
    """Figures by case, number of runs and seed, in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._known: dict[str, dict[str, Figures]] = dict(json.loads(line) for line in lines)

    def of(self, case: SimulatorCase, n: int, seed: int, points: str) -> dict[str, Figures]:
        """Figures of one seed, computed if they are not there."""
        key = f"{case.name} {n} {points} {seed}"
        if key not in self._known:
            self._known[key] = figures(case, n, seed, points)
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]


def line(case: SimulatorCase, n: int, found: list[dict[str, Figures]]) -> str:
    """One line of the table: mean errors, ratios to shaff, coverage and width."""
    errors = {peer: _mean(found, peer, "error") for peer in found[0]}
    words = [f"{case.name:16s} {n:5d}", *(_beside(errors, peer) for peer in PEERS)]
    for peer in ("shaff", "runs alone", "SALib"):
        if peer in found[0]:
            covered, width = (_mean(found, peer, what) for what in ("coverage", "width"))
            words.append(f"{peer} {covered:.3f} ({width:.4f})")
    return "   ".join(words)


def _mean(found: list[dict[str, Figures]], peer: str, what: str) -> float:
    return float(np.mean([one[peer][what] for one in found]))


def _beside(errors: dict[str, float], peer: str) -> str:
    if peer not in errors:
        return f"{'-':>13s}"
    return f"{errors[peer]:.4f} ({errors['shaff'] / errors[peer]:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(NAMED))
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 20))
    parser.add_argument("--points", choices=("sobol", "latin_hypercube"), default="sobol")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    kept, seeds = Kept(options.keep), range(*options.seeds)
    print("error (ratio of shaff's to it) of", ", ".join(PEERS), "then coverage (width)")
    for name in options.cases:
        print(f"{name}: true effects {CASES[name].effects.round(4).tolist()}", flush=True)
        for n in options.n:
            found = [kept.of(CASES[name], n, seed, options.points) for seed in seeds]
            print(line(CASES[name], n, found), flush=True)


if __name__ == "__main__":
    main()
