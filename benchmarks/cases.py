"""Test functions of six dependent inputs whose true Shapley effects are known.

    python -m benchmarks.cases                  # table of the true effects
    python -m benchmarks.cases --check          # recompute them with other random numbers
    python -m benchmarks.cases --write [--case jump]

The inputs have a Gaussian copula. Where a case does not say otherwise, 5 % of the variance of y is
noise, so the true v(all) is 0.95. Unused inputs still have effects, because they tell something
about used ones; the exceptions are `nulls`, which are independent of everything.

The true values v(U) are numerical integrals. X and X' share the latent normals of U, the others
are drawn twice from their conditional distribution; Var E[f | X_U] = Cov(f(X), f(X')), taken over
scrambled Sobol' points. Independent scramblings give the error. The values are kept in
`cases.json`, which also holds the variance of the signal that scales the noise.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri
from scipy.stats import qmc

from shaff._util.typing import BoolArray, FloatArray
from shaff.datasets import shapley_values

P = 6
MASKS: BoolArray = (np.arange(2**P)[:, None] >> np.arange(P) & 1).astype(bool)
FILE = Path(__file__).with_name("cases.json")
# Points of one scrambling (a power of two), and scramblings.
POWER, SCRAMBLINGS = 17, 16
Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Truth:
    """What the integration of a case gives: figures of the game, and their standard errors."""

    variance: float
    values: FloatArray
    effects: FloatArray
    errors: FloatArray


@dataclass(frozen=True, eq=False)
class Case:
    """A signal f(X), the distribution of X, and the share of noise.

    `margins` and `signal` take arrays of shape (P, n): latent normals and inputs. A `binary` case
    has outcomes 0 and 1, its signal is the probability of 1; the outcomes of a case of `counts` are
    Poisson numbers, its signal is their mean. `noise` has no meaning then. `unseen` cases have had
    no part in the choice of any constant of shaff.
    """

    name: str
    signal: Function
    margins: Function
    correlation: FloatArray
    noise: float = 0.05
    nulls: tuple[int, ...] = ()
    named: bool = False
    binary: bool = False
    counts: bool = False
    apart: bool = False
    unseen: bool = False

    def latent(self, n: int, seed: int) -> tuple[FloatArray, np.random.Generator]:
        """The normals behind the rows of one data set, shape (P, n), and what draws the noise."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        return np.linalg.cholesky(self.correlation) @ rng.standard_normal((P, n)), rng

    def draw(self, n: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Rows of one data set: X of shape (n, P), y of shape (n,)."""
        normals, rng = self.latent(n, seed)
        x = self.margins(normals)
        f = self.signal(x)
        if self.binary:
            return x.T.copy(), (rng.random(n) < f).astype(np.float64)
        if self.counts:
            return x.T.copy(), rng.poisson(f).astype(np.float64)
        spread = np.sqrt(self.truth.variance * self.noise / (1 - self.noise))
        return x.T.copy(), f + spread * rng.standard_normal(n)

    @property
    def truth(self) -> Truth:
        return stored()[self.name]

    def values(self) -> FloatArray:
        """True v of all subsets, in the order of `MASKS`: bit j of the position is player j."""
        return self.truth.values.copy()

    @property
    def effects(self) -> FloatArray:
        """True Shapley effects, shape (P,)."""
        return self.truth.effects.copy()

    def explained(self, mean: float, variance: float) -> float:
        """True v(all), from the moments of the signal."""
        if self.counts:
            return variance / (variance + mean)
        return variance / (mean * (1 - mean)) if self.binary else 1 - self.noise


@cache
def stored() -> dict[str, Truth]:
    """The kept truths, by case."""
    return {name: from_json(kept) for name, kept in json.loads(FILE.read_text()).items()}


def from_json(kept: dict[str, Any]) -> Truth:
    values = np.array(kept["values"])
    return Truth(kept["variance"], values, effects_of(values), np.array(kept["errors"]))


# Integration


def integrate(
    case: Case, power: int = POWER, scramblings: int = SCRAMBLINGS, seed: int = 0
) -> Truth:
    """Values of all subsets, with the standard errors of the effects over the scramblings."""
    parts = [one_scrambling(case, power, [seed, i]) for i in range(scramblings)]
    values = np.mean([part for part, _ in parts], axis=0)
    each = np.array([effects_of(part) for part, _ in parts])
    errors = each.std(axis=0, ddof=1) / np.sqrt(scramblings)
    variance = float(np.mean([variance for _, variance in parts]))
    return Truth(variance, values, effects_of(values), errors)


def effects_of(values: FloatArray) -> FloatArray:
    """Shapley effects of values in the order of `MASKS`."""
    return shapley_values(lambda masks: values, P)


def one_scrambling(case: Case, power: int, seed: list[int]) -> tuple[FloatArray, float]:
    """v of all subsets and the variance of the signal, from one set of points."""
    points = qmc.Sobol(2 * P, rng=np.random.default_rng(seed)).random_base2(power).T
    normals = ndtri(np.clip(points, 1e-12, 1 - 1e-12)).reshape(2, P, -1)
    values, variances = np.zeros(len(MASKS)), []
    relevant = [m for m in range(1, len(MASKS)) if not MASKS[m, list(case.nulls)].any()]
    for m in relevant:
        values[m], mean, variance = closed_index(case, MASKS[m], normals)
        values[m] *= case.explained(mean, variance)
        variances.append(variance)
    # A null adds nothing to any subset.
    dropped = sum(1 << j for j in case.nulls)
    return values[np.arange(len(MASKS)) & ~dropped], float(np.mean(variances))


def closed_index(case: Case, u: BoolArray, normals: FloatArray) -> tuple[float, float, float]:
    """Var E[f | X_U] / Var f, and mean and variance of f.

    With U first, the Cholesky factor maps the first |U| normals to the latent inputs of U.
    """
    order = np.argsort(~u, kind="stable")
    factor = np.linalg.cholesky(case.correlation[np.ix_(order, order)])
    first, second = normals
    second = np.where(np.arange(P)[:, None] < u.sum(), first, second)
    back = np.argsort(order)
    f, g = (case.signal(case.margins((factor @ w)[back])) for w in (first, second))
    mean = float((f.mean() + g.mean()) / 2)
    f, g = f - mean, g - mean
    variance = float(f @ f + g @ g) / (2 * len(f))
    return float(f @ g) / len(f) / variance, mean, variance


# Distributions of the inputs


def autoregressive(rho: float, nulls: tuple[int, ...] = ()) -> FloatArray:
    return isolated(rho ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))), nulls)


def equicorrelated(rho: float, nulls: tuple[int, ...] = ()) -> FloatArray:
    return isolated(np.where(np.eye(P, dtype=bool), 1.0, rho), nulls)


def isolated(correlation: FloatArray, nulls: tuple[int, ...]) -> FloatArray:
    """The same with inputs that are independent of all others."""
    alone = np.isin(np.arange(P), nulls)
    keep = ~(alone[:, None] | alone) | np.eye(P, dtype=bool)
    return np.where(keep, correlation, 0.0)


def normal(z: FloatArray) -> FloatArray:
    return z


def uniform(z: FloatArray) -> FloatArray:
    return ndtr(z)


def circular(z: FloatArray) -> FloatArray:
    """Uniform on (-pi, pi)."""
    return np.pi * (2 * ndtr(z) - 1)


def log_normal(z: FloatArray) -> FloatArray:
    return np.exp(0.5 * z)


# Signals: the named ones


def ishigami(x: FloatArray) -> FloatArray:
    return np.sin(x[0]) * (1 + 0.1 * x[2] ** 4) + 7 * np.sin(x[1]) ** 2


G_WEIGHTS = np.array([0.0, 0.0, 0.5, 1.0, 9.0, 99.0])


def g_sobol(x: FloatArray) -> FloatArray:
    a = G_WEIGHTS[:, None]
    return np.prod((np.abs(4 * x - 2) + a) / (1 + a), axis=0)


def friedman(x: FloatArray) -> FloatArray:
    curved = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2
    return curved + 10 * x[3] + 5 * x[4]


def additive(x: FloatArray) -> FloatArray:
    waves = np.sin(4 * x[0]) + np.cos(3 * x[1]) + np.sin(2 * x[3])
    return waves + np.abs(x[2]) + 0.5 * x[4]


LOG_POWERS = np.array([1.0, -0.8, 0.6, 0.4, 0.0, 0.0])


def log_product(x: FloatArray) -> FloatArray:
    """x1 x3^0.6 x4^0.4 / x2^0.8."""
    return np.exp(LOG_POWERS @ np.log(x))


# Signals: others


def waves(x: FloatArray) -> FloatArray:
    """Three periods of x1, one and a half of x2, and a line."""
    return np.sin(6 * np.pi * x[0]) + np.sin(3 * np.pi * x[1]) + 2 * x[2]


def jump(x: FloatArray) -> FloatArray:
    return 2.0 * (x[0] > 0.4) + x[1] + 0.5 * np.cos(2 * x[2])


def logistic(x: FloatArray) -> FloatArray:
    """A probability."""
    return expit(2 * x[0] + x[1] * x[2] + 1.5 * np.sin(2 * x[3]) - 0.5)


def count(x: FloatArray) -> FloatArray:
    """A mean number, 1.6 on average."""
    return np.exp(0.6 * x[0] + 0.5 * np.tanh(x[1]) * x[2] + 0.5 * np.sin(2 * x[3]) - 0.1)


def regimes(x: FloatArray) -> FloatArray:
    """Another line on each side of a threshold."""
    return np.where(x[0] > 0.2, 2 * x[1], 1 - 1.5 * x[2]) + 0.5 * x[3]


def saturation(x: FloatArray) -> FloatArray:
    """Michaelis and Menten, with an inhibitor."""
    return x[0] * x[1] / (x[1] + 0.7 * x[2] * (1 + x[3]))


LINE = np.array([1.0, 0.7, -0.5, 0.8, 0.0, 0.3])


def line(x: FloatArray) -> FloatArray:
    return LINE @ x


def sine_product(x: FloatArray) -> FloatArray:
    return np.sin(2 * x[0] * x[1]) + 0.5 * x[2]


def parity(x: FloatArray) -> FloatArray:
    return np.sign(x[0]) * np.sign(x[1]) * np.sign(x[2])


def named_cases() -> list[Case]:
    last = (5,)
    return [
        Case("ishigami", ishigami, circular, equicorrelated(0.4, last), nulls=last, named=True),
        Case("g-Sobol", g_sobol, uniform, equicorrelated(0.3), named=True),
        Case("friedman", friedman, uniform, autoregressive(0.5), named=True),
        Case("additive", additive, normal, autoregressive(0.5, last), nulls=last, named=True),
        Case("log-normal", log_product, log_normal, equicorrelated(0.4), named=True),
    ]


def own_cases() -> list[Case]:
    last = (5,)
    return [
        Case("waves", waves, uniform, autoregressive(0.5, last), nulls=last),
        Case("jump", jump, normal, equicorrelated(0.5)),
        Case("binary", logistic, normal, autoregressive(0.5, last), nulls=last, binary=True),
        Case("count", count, normal, autoregressive(0.5, last), nulls=last, counts=True),
        Case("regimes", regimes, normal, equicorrelated(0.4)),
        Case("saturation", saturation, log_normal, equicorrelated(0.3, last), nulls=last),
        Case("line", line, normal, autoregressive(0.8)),
        Case("sine product", sine_product, normal, autoregressive(0.5, last), nulls=last),
        Case("noisy", friedman, uniform, autoregressive(0.6, last), noise=0.6, nulls=last),
        Case("parity", parity, normal, equicorrelated(0.3), apart=True),
    ]


# Signals that no constant was chosen by. When boosting was made to grow for as long as any subset
# gains, hinges, stairs and triple were looked at beside named and own cases.


def heavy(z: FloatArray) -> FloatArray:
    """Tails as heavy as those of a t distribution with few degrees of freedom."""
    return np.sinh(1.2 * z)


def two_humps(z: FloatArray) -> FloatArray:
    return z + 2 * np.tanh(3 * z)


def hinges(x: FloatArray) -> FloatArray:
    return np.maximum(x[0] + x[1] - 0.5, 0) - np.maximum(x[2] - x[3], 0) + 0.3 * x[4]


def bumps(x: FloatArray) -> FloatArray:
    return 2 * np.exp(-4 * (x[0] - 0.3) ** 2) + x[1] * np.exp(-(x[2] ** 2)) + 0.3 * x[3]


def ratio(x: FloatArray) -> FloatArray:
    return x[0] / (0.3 + x[1] + 0.5 * x[2] * x[3])


def stairs(x: FloatArray) -> FloatArray:
    return np.floor(4 * x[0]) + 2.0 * (x[1] > x[2]) * x[3]


def triple(x: FloatArray) -> FloatArray:
    return x[0] * x[1] * x[2] + x[3]


def tails(x: FloatArray) -> FloatArray:
    return np.arcsinh(x[0]) ** 2 + 2 * np.tanh(x[1]) + 0.5 * np.arcsinh(x[2]) * np.tanh(x[3])


def humps(x: FloatArray) -> FloatArray:
    return np.sin(x[0]) + 0.25 * x[1] * x[2] + 0.3 * x[3]


def rare(x: FloatArray) -> FloatArray:
    """A probability, seven per cent on average."""
    return expit(1.5 * x[0] + x[1] * x[2] - 3.5)


def visits(x: FloatArray) -> FloatArray:
    """A mean number; not every part of it is a factor."""
    return 0.3 + np.exp(2 * x[0] * (1 - x[1]) + np.cos(3 * x[2]) - 0.5) * (1 + (x[3] > 0.7))


def unseen_cases() -> list[Case]:
    last = (5,)
    return [
        Case("hinges", hinges, normal, equicorrelated(0.4), unseen=True),
        Case("bumps", bumps, normal, autoregressive(0.6, last), nulls=last, unseen=True),
        Case("ratio", ratio, log_normal, equicorrelated(0.5), unseen=True),
        Case("stairs", stairs, uniform, autoregressive(0.5), noise=0.1, unseen=True),
        Case("triple", triple, normal, equicorrelated(0.3, last), nulls=last, unseen=True),
        Case("tails", tails, heavy, autoregressive(0.4), noise=0.2, unseen=True),
        Case("humps", humps, two_humps, equicorrelated(0.4), noise=0.2, unseen=True),
        Case("rare", rare, normal, equicorrelated(0.3), binary=True, unseen=True),
        Case("visits", visits, uniform, equicorrelated(0.4), counts=True, unseen=True),
    ]


CASES: dict[str, Case] = {case.name: case for case in named_cases() + own_cases() + unseen_cases()}


# Closed forms


def linear_values(case: Case) -> FloatArray:
    """v of the line of normal inputs."""
    shares = projections(case.correlation, LINE)
    return (1 - case.noise) * shares / shares[-1]


def log_values(case: Case) -> FloatArray:
    """v of the product of log-normal inputs: a function of the same projections."""
    shares = np.expm1(projections(case.correlation, 0.5 * LOG_POWERS))
    return (1 - case.noise) * shares / shares[-1]


def projections(correlation: FloatArray, beta: FloatArray) -> FloatArray:
    """Var E[beta z | z_U] of all subsets."""
    c = correlation @ beta
    solved = [np.linalg.solve(correlation[np.ix_(u, u)], c[u]) @ c[u] for u in MASKS]
    return np.array(solved)


def independent_ishigami() -> tuple[Case, FloatArray]:
    """The function on independent inputs, and its values from the known parts of the variance."""
    case = replace(CASES["ishigami"], correlation=np.eye(P), nulls=(3, 4, 5))
    first, second = (1 + np.pi**4 / 50) ** 2 / 2, 49 / 8
    both = np.pi**8 * (1 / 1800 - 1 / 5000)
    parts = first * MASKS[:, 0] + second * MASKS[:, 1] + both * (MASKS[:, 0] & MASKS[:, 2])
    return case, (1 - case.noise) * parts / parts[-1]


def check_closed_forms() -> None:
    """Kept values, or integrals, against formulas."""
    case, values = independent_ishigami()
    pairs = {
        "line": (CASES["line"].values(), linear_values(CASES["line"])),
        "log-normal": (CASES["log-normal"].values(), log_values(CASES["log-normal"])),
        "ishigami, independent": (integrate(case).values, values),
    }
    for name, (integral, exact) in pairs.items():
        furthest = np.abs(integral - exact).max()
        error = np.abs(effects_of(integral - exact)).max()
        print(f"{name:22s} furthest value {furthest:.1e}, effect {error:.1e} from the formula")


# Commands


def write(names: list[str]) -> None:
    """Integrate these cases anew, keep the others."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in names:
        truth = integrate(CASES[name])
        kept[name] = {
            "variance": float(f"{truth.variance:.8g}"),
            "values": truth.values.round(6).tolist(),
            "errors": [float(f"{error:.2g}") for error in truth.errors],
        }
        ordered = {case: kept[case] for case in CASES if case in kept}
        FILE.write_text(json.dumps(ordered).replace('}, "', '},\n"') + "\n")
        print(f"{name:14s} largest error of an effect {truth.errors.max():.1e}", flush=True)


def check(names: list[str]) -> None:
    """Recompute with other random numbers; the two must agree within their errors."""
    for name in names:
        kept, new = CASES[name].truth, integrate(CASES[name], POWER - 2, seed=1)
        off = np.abs(new.effects - kept.effects)
        allowed = 5 * np.hypot(new.errors, kept.errors) + 1e-5
        verdict = "agrees" if (off <= allowed).all() else "DIFFERS"
        print(f"{name:14s} {verdict}: largest difference {off.max():.1e}", flush=True)


def show(names: list[str]) -> None:
    print(f"{'':14s}" + "".join(f"{f'x{j + 1}':>8s}" for j in range(P)) + "     sum   error")
    for name in names:
        truth = CASES[name].truth
        figures = "".join(f"{effect:8.4f}" for effect in (*truth.effects, truth.effects.sum()))
        print(f"{name:14s}{figures} {truth.errors.max():.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="recompute and keep")
    parser.add_argument("--check", action="store_true", help="recompute and compare")
    parser.add_argument("--case", choices=list(CASES), nargs="+", default=list(CASES))
    args = parser.parse_args()
    if args.write:
        write(args.case)
        stored.cache_clear()
    if args.check:
        check_closed_forms()
        check(args.case)
    show(args.case)


if __name__ == "__main__":
    main()
