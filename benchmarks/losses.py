"""Errors and coverage of effects by other losses, beside those by squared errors on the same rows.

    python -m benchmarks.losses run --n 300 1000 4000 --seeds 0 20 --out losses.jsonl
    python -m benchmarks.losses report losses.jsonl
    python -m benchmarks.losses floors --seeds 0 5
    python -m benchmarks.losses boosters --seeds 0 5

Inputs are numbers on a few levels, tied by a Gaussian copula of one factor, and the fifth is noise:
their joint law is enumerated, and so is the truth of every subset, by every loss. ``run`` explains
each data set by its own loss and by squared errors; the file has a line for each, and runs that it
has are skipped. The report has one row a case and number of rows:

- error: mean absolute error of the five effects, as a share of the true v(all), by the loss and by
  squared errors, and their ratio;
- oracle: the same ratio where the true conditional means are measured on the same rows: what the
  rows alone leave of either, whatever the learner;
- covers: how many 95 % intervals of the true effects above 0.02 hold them;
- false +: p-values under 0.05 of the input that is noise.

``floors`` shows the error by the share of the mean (or of the rate of the rarest class) that
conditional means are kept above; its cases are others. ``boosters`` compares boosters that are
fitted by their own loss with those of squares: the error of the effects, v(all) on held-out rows
by their projected trees, whose steps are those of squares, and what they explain by themselves.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, ndtr, ndtri, xlogy
from scipy.stats import poisson
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

from benchmarks.lines import Record, fill, read
from shaff import ShapleyEffects
from shaff._util.typing import FloatArray, IntArray
from shaff.solve.exact import shapley_map
from shaff.subsets import Subsets
from shaff.values import losses
from shaff.values.losses import LimitedLoss, find_loss

LEVEL, SIGNIFICANT, LARGE = 0.95, 0.05, 0.02
N_INPUTS, N_LEVELS = 5, 7
# Loadings of the inputs on the factor; the last is noise.
LOADINGS = np.array([0.8, 0.7, 0.6, 0.3, 0.0])
SHAPE = 2.0  # of the gamma laws
SQUARES = "squared_error"
NODES = 60  # of the quadrature over the factor


@dataclass(frozen=True)
class Case:
    """A law of the outcome given the inputs: its mean, and the loss that belongs to it."""

    loss: str
    mean: Callable[..., FloatArray]


def _logistic(score: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-score)))


CASES: dict[str, Case] = {
    "logit": Case("log_loss", lambda a, b, c, d: _logistic(1.5 * a - b + a * c)),
    "regions": Case("log_loss",
                    lambda a, b, c, d: 0.1 + 0.7 * ((a > 0) ^ (b > 0.5)) + 0.1 * (d > 0)),
    "rare": Case("log_loss", lambda a, b, c, d: _logistic(-4 + 1.2 * a + b * (c > 0))),
    "rates": Case("poisson", lambda a, b, c, d: np.exp(0.5 + 0.5 * a + 0.3 * b * c)),
    "waves": Case("poisson",
                  lambda a, b, c, d: 1 + 2 * np.sin(1.5 * a) ** 2 + 1.5 * (b > 0) * (c > 0)),
    "few": Case("poisson", lambda a, b, c, d: np.exp(-2 + 0.7 * a + 0.5 * np.abs(b))),
    "amounts": Case("gamma", lambda a, b, c, d: np.exp(0.6 * a - 0.4 * b * (c > 0))),
    "claims": Case("tweedie", lambda a, b, c, d: np.exp(0.2 + 0.6 * a + 0.4 * b * d)),
}  # fmt: skip
# What the floor was chosen on, and nothing else.
TRIALS: dict[str, Case] = {
    "hinge": Case("log_loss", lambda a, b, c, d: _logistic(-1 + 2 * np.maximum(a, 0) - 2 * c)),
    "certain": Case("log_loss", lambda a, b, c, d: np.where(a + d > 1, 0.97, 0.01 + 0.1 * (b > 0))),
    "seldom": Case("log_loss", lambda a, b, c, d: _logistic(-3.5 + 1.5 * b + d)),
    "product": Case("poisson", lambda a, b, c, d: 0.3 + 1.2 * (1 + np.tanh(a)) * (1 + np.tanh(c))),
    "zeros": Case("poisson", lambda a, b, c, d: np.where(a < 0, 0.03, 1.0) * np.exp(0.4 * b)),
    "skewed": Case("gamma", lambda a, b, c, d: 0.5 + np.exp(0.8 * b) + 0.5 * (a > 0)),
    "rain": Case("tweedie", lambda a, b, c, d: np.exp(-0.5 + a - 0.5 * c)),
}  # fmt: skip


# The law of the inputs and the truth ------------------------------------------------------------


@cache
def law() -> tuple[IntArray, FloatArray, FloatArray]:
    """All cells of the inputs as levels, shape (n_cells, 5), their probabilities, and the number
    that each level stands for."""
    cuts = ndtri(np.linspace(0, 1, N_LEVELS + 1))
    numbers = ndtri((np.arange(N_LEVELS) + 0.5) / N_LEVELS)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    rest = np.sqrt(1 - LOADINGS**2)
    at = (cuts[None, :, None] - LOADINGS[:, None, None] * nodes) / rest[:, None, None]
    given = np.diff(ndtr(at), axis=1)  # (n_inputs, n_levels, n_nodes)
    cells = np.array(list(product(range(N_LEVELS), repeat=N_INPUTS)))
    each = np.prod([given[j, cells[:, j]] for j in range(N_INPUTS)], axis=0)
    probability = each @ (weights / weights.sum())
    return cells, probability / probability.sum(), numbers


def means_of(case: Case) -> FloatArray:
    """The mean of the outcome in each cell."""
    cells, _, numbers = law()
    return np.asarray(case.mean(*numbers[cells[:, :4]].T), dtype=float)


def conditional_means(f: FloatArray) -> FloatArray:
    """E[Y | X_U] in each cell for all 32 subsets, shape (32, n_cells)."""
    cells, probability, _ = law()
    out = np.empty((2**N_INPUTS, len(cells)))
    for u, mask in enumerate(masks()):
        code = cells[:, mask] @ N_LEVELS ** np.arange(mask.sum())
        total = np.bincount(code, probability)
        out[u] = (np.bincount(code, probability * f) / np.where(total > 0, total, 1))[code]
    return out


def masks() -> FloatArray:
    """All subsets, the empty set first and the full set last."""
    return np.array(list(product([False, True], repeat=N_INPUTS)))


def generator(loss: str, m: FloatArray) -> FloatArray:
    """The convex function that a loss is the Bregman divergence of."""
    found = find_loss(loss)
    if loss == SQUARES:
        return m**2
    if loss == "log_loss":
        return xlogy(m, m) + xlogy(1 - m, 1 - m)
    if loss == "poisson":
        return 2 * xlogy(m, m)
    if loss == "gamma":
        return -2 * np.log(m)
    p = found.power
    return 2 * m ** (2 - p) / ((1 - p) * (2 - p))


def expected_generator(kind: str, loss: str, f: FloatArray) -> FloatArray:
    """E[generator(Y)] in each cell, of the law that belongs to ``kind``."""
    if kind == "log_loss":
        return f if loss == SQUARES else np.zeros_like(f)
    if kind == "gamma":
        if loss == SQUARES:
            return f**2 * (1 + 1 / SHAPE)
        return -2 * (digamma(SHAPE) - np.log(SHAPE) + np.log(f))
    counts = np.arange(400)
    if kind == "poisson":
        if loss == SQUARES:
            return f**2 + f
        return poisson.pmf(counts, f[:, None]) @ generator(loss, counts.astype(float))
    rate, shape, scale = compound(f)
    if loss == SQUARES:
        return f**2 + f**losses.TWEEDIE_POWER
    s = 2 - losses.TWEEDIE_POWER
    n = counts[1:]
    power = np.exp(gammaln(n * shape + s) - gammaln(n * shape))
    moment = (poisson.pmf(n, rate[:, None]) @ power) * scale**s
    return moment * 2 / ((s - 1) * s)


def compound(f: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """A Tweedie law of power 1.5 and dispersion 1: a Poisson number of gamma amounts."""
    p = losses.TWEEDIE_POWER
    return f ** (2 - p) / (2 - p), (2 - p) / (p - 1), (p - 1) * f ** (p - 1)


def true_values(case: Case, loss: str) -> FloatArray:
    """v of all 32 subsets: what conditional means explain of the expected loss."""
    _, probability, _ = law()
    f = means_of(case)
    whole = probability @ expected_generator(case.loss, loss, f)
    explained = np.array([probability @ generator(loss, m) for m in conditional_means(f)])
    nothing = generator(loss, np.array([probability @ f]))[0]
    return (explained - nothing) / (whole - nothing)


def effects_of(values: FloatArray) -> FloatArray:
    """Shapley effects from the values of all subsets, in the order of `masks`."""
    subsets = Subsets.from_masks(masks()[1:-1])
    return shapley_map(subsets) @ values[1:]


@cache
def truth(name: str, loss: str) -> tuple[FloatArray, float]:
    """True effects and v(all)."""
    values = true_values({**CASES, **TRIALS}[name], loss)
    return effects_of(values), float(values[-1])


# Data and runs ----------------------------------------------------------------------------------


def draw(name: str, n: int, seed: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Inputs, outcome, and the cell of each row."""
    case = {**CASES, **TRIALS}[name]
    cells, probability, numbers = law()
    rng = np.random.default_rng([seed, n, sum(map(ord, name))])
    at = rng.choice(len(cells), size=n, p=probability)
    f = means_of(case)[at]
    return numbers[cells[at]], _outcome(case.loss, f, rng), at


def _outcome(kind: str, f: FloatArray, rng: np.random.Generator) -> FloatArray:
    if kind == "log_loss":
        return (rng.uniform(size=len(f)) < f).astype(float)
    if kind == "poisson":
        return rng.poisson(f).astype(float)
    if kind == "gamma":
        return rng.gamma(SHAPE, f / SHAPE)
    rate, shape, scale = compound(f)
    counts = rng.poisson(rate)
    return np.where(counts > 0, rng.gamma(np.maximum(counts, 1) * shape, scale), 0.0)


def run(case: str, loss: str, n: int, seed: int, estimator: Any = None) -> Record:
    """Explain one data set by one loss."""
    X, y, _ = draw(case, n, seed)
    y = y.astype(int).astype(str) if CASES.get(case, TRIALS.get(case)).loss == "log_loss" else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = ShapleyEffects(estimator, loss=loss, random_state=seed).fit(X, y).result_
    low, high = result.confidence_interval(LEVEL)
    bounds = result.explained_interval(LEVEL)
    return {
        "effects": result.effects.tolist(),
        "explained": result.explained_variance,
        "plain": result.explained_variance
        if result.plain_explained_variance is None
        else result.plain_explained_variance,
        "low": low.tolist(),
        "high": high.tolist(),
        "interval": None if bounds is None else list(bounds),
        "p": None if result.p_values is None else result.p_values.tolist(),
        "oracle": oracle(case, loss, n, seed).tolist(),
    }


def oracle(name: str, loss: str, n: int, seed: int) -> FloatArray:
    """Effects by the true conditional means, measured on the same rows."""
    _, y, at = draw(name, n, seed)
    means = conditional_means(means_of({**CASES, **TRIALS}[name]))[:, at]
    found = find_loss(loss)
    limited = LimitedLoss.of(found, np.array([y.mean()]))
    wide = LimitedLoss(
        found, np.minimum(limited.least, means.min()), np.maximum(limited.largest, means.max())
    )
    each = [wide.errors(y[:, None], (y - m)[:, None]).mean() for m in means]
    return effects_of(1 - np.array(each) / each[0])


def pairs(cases: Sequence[str]) -> list[tuple[str, str]]:
    """Cases with the losses that they are explained by."""
    return [(name, loss) for name in cases for loss in (CASES[name].loss, SQUARES)]


# Reports ----------------------------------------------------------------------------------------


def report(records: list[Record]) -> None:
    """Print one row a case and number of rows, then means."""
    print(f"{'case':10s}{'loss':10s}{'n':>6s}{'runs':>6s}{'error':>8s}{'squares':>9s}{'ratio':>7s}"
          f"{'oracle':>8s}{'covers':>8s}{'squares':>9s}{'v(all)':>8s}{'false +':>9s}")  # fmt: skip
    table = []
    for case, n in dict.fromkeys((r["case"], r["n"]) for r in records):
        some = [r for r in records if (r["case"], r["n"]) == (case, n)]
        own = [r for r in some if r["loss"] != SQUARES]
        squares = [r for r in some if r["loss"] == SQUARES]
        row = [*_figures(own), *_figures(squares)]
        table.append((n, row))
        _print(case, CASES[case].loss, n, len(own), row)
    for n in dict.fromkeys(n for n, _ in table):
        _print("mean", "", n, 0, list(np.nanmean([row for m, row in table if m == n], axis=0)))


def _print(case: str, loss: str, n: int, runs: int, row: list[float]) -> None:
    error, by_oracle, covers, v, false, other, other_oracle, other_covers, *_ = row
    print(f"{case:10s}{loss:10s}{n:6d}{runs:6d}{error:8.4f}{other:9.4f}{error / other:7.2f}"
          f"{by_oracle / other_oracle:8.2f}{covers:8.3f}{other_covers:9.3f}"
          f"{v:8.3f}{false:9.3f}")  # fmt: skip


def _figures(records: list[Record]) -> list[float]:
    """Error, the oracle's, coverage of the effects and of v(all), false positives."""
    if not records:
        return [np.nan] * 5
    effects, v = truth(records[0]["case"], records[0]["loss"])
    large = effects > LARGE
    error = [np.abs(np.array(r["effects"]) - effects).mean() / v for r in records]
    by_oracle = [np.abs(np.array(r["oracle"]) - effects).mean() / v for r in records]
    covers = [
        ((np.array(r["low"]) <= effects) & (effects <= np.array(r["high"])))[large].mean()
        for r in records
    ]
    inside = [r["interval"][0] <= v <= r["interval"][1] for r in records]
    false = [r["p"][-1] < SIGNIFICANT for r in records]
    return [float(np.mean(figure)) for figure in (error, by_oracle, covers, inside, false)]


def floors(n: int, seeds: range, shares: Sequence[float]) -> None:
    """Print the error of the trial cases by the floor of the conditional means."""
    print(f"{'case':10s}" + "".join(f"{share:>9.3g}" for share in shares))
    chosen = losses.FLOOR
    for name, case in TRIALS.items():
        effects, v = truth(name, case.loss)
        errors = []
        for share in shares:
            losses.FLOOR = share
            runs = [np.array(run(name, case.loss, n, seed)["effects"]) for seed in seeds]
            errors.append(np.mean([np.abs(found - effects).mean() / v for found in runs]))
        print(f"{name:10s}" + "".join(f"{error:9.4f}" for error in errors), flush=True)
    losses.FLOOR = chosen


def boosters(n: int, seeds: range) -> None:
    """Print what boosters of the case's own loss and of squares lead to, measured by that loss."""
    print(f"{'case':10s}{'n':>6s}{'trees of':>15s}{'error':>8s}{'v(all)':>8s}{'itself':>8s}"
          f"{'truth':>8s}")  # fmt: skip
    for name in ("rates", "waves", "few", "amounts"):
        loss = CASES[name].loss
        effects, v = truth(name, loss)
        for fitted in (loss, SQUARES):
            model = HistGradientBoostingRegressor(loss=fitted, max_features=0.4, random_state=0)
            runs = [run(name, loss, n, seed, model) for seed in seeds]
            error = np.mean([np.abs(np.array(r["effects"]) - effects).mean() / v for r in runs])
            shown = [r["plain"] for r in runs], [itself(name, n, seed, model) for seed in seeds]
            figures = "".join(f"{np.mean(some):8.3f}" for some in (*shown, v))
            print(f"{name:10s}{n:6d}{fitted:>15s}{error:8.4f}{figures}", flush=True)


def itself(name: str, n: int, seed: int, model: Any) -> float:
    """Explained deviance of a booster by its own predictions of held-out rows."""
    X, y, _ = draw(name, n, seed)
    said = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=seed))
    limited = LimitedLoss.of(find_loss(CASES[name].loss), np.array([y.mean()]))
    parts = (limited.errors(y[:, None], (y - m)[:, None]).mean() for m in (said, y.mean()))
    left, whole = parts
    return float(1 - left / whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "report", "floors", "boosters"))
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--n", type=int, nargs="+", default=[300, 1000, 4000])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 20))
    parser.add_argument("--out", type=Path, default=Path("losses.jsonl"))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    seeds = range(*options.seeds)
    if options.what == "run":
        keys = [
            {"case": case, "loss": loss, "n": n, "seed": seed}
            for n, seed, (case, loss) in product(options.n, seeds, pairs(options.cases))
        ]
        fill(options.out, keys, run, options.jobs)
        report(read(options.out))
    elif options.what == "report":
        report(read(options.file or options.out))
    elif options.what == "floors":
        floors(options.n[0], seeds, (0.2, 0.1, 0.05, 0.02, 0.01, 0.001))
    else:
        boosters(options.n[-1], seeds)


if __name__ == "__main__":
    main()
