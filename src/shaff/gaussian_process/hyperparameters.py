"""Type-II likelihood of the odd-part Gaussian process, with analytic gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import Bounds, minimize

from shaff._util.typing import FloatArray
from shaff.gaussian_process.kernel import OddKernel, Points, decays
from shaff.gaussian_process.linear_game import Proxy
from shaff.gaussian_process.posterior import stable_cholesky

# Order of the logs of the hyper-parameters; the rates, one per player, follow.
SIGNAL, LINEAR, NOISE, PROXY, RATES = range(5)
# Log-normal priors in units where g has mean square 1. They are wide on purpose: the rates of all
# players sum to about 2 (a game with visible but mild interactions), values carry 0.3 % of noise.
# Narrower, and games outside of the experiments suffer (`benchmarks.designs --calibration`).
PRIOR_MEAN = np.log([1.0, 0.1, 1e-5, 0.1])
PRIOR_SD = np.array([2.0, 2.0, 3.0, 2.0])
RATE_SUM, RATE_SD = 2.0, 1.5
LOWEST, HIGHEST = float(np.log(1e-8)), float(np.log(1e4))
# Without this second start only one of two modes would be tried (`benchmarks.designs`).
NOISE_STARTS = (1e-3,)
# Past so many pairs, and so many per player, the likelihood is that of an even sample of them: it
# costs O(pairs^3).
# More costs time, fewer make rates uncertain (`benchmarks.designs`), or so free that they follow
# the noise (`benchmarks.wide designs`).
MAX_PAIRS, PAIRS_PER_PLAYER = 300, 5


@dataclass(frozen=True, eq=False)
class Observations:
    """Values of g with what is known about their errors.

    Parameters
    ----------
    points : Points
    g : float array of shape (n_pairs,)
    known : float array of shape (n_pairs,)
        Known error variances.
    learnt : float array of shape (n_pairs,)
        Multiples of the learnt noise variance: 2 for a pair of noisy values, 0 for constraints.
    """

    points: Points
    g: FloatArray
    known: FloatArray
    learnt: FloatArray

    def __len__(self) -> int:
        return len(self.g)

    def thinned(self, limit: int) -> Observations:
        """An even sample of at most ``limit`` pairs that keeps the last one, {full, empty}."""
        kept = np.unique(np.linspace(0, len(self) - 1, min(limit, len(self))).astype(np.int64))
        return Observations(self.points[kept], self.g[kept], self.known[kept], self.learnt[kept])

    def scaled(self, scale: float) -> Observations:
        """The same in other units of g."""
        points = Points(self.points.signs, self.points.proxy / scale)
        return Observations(points, self.g / scale, self.known / scale**2, self.learnt)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyper-parameters in units where g has mean square 1.

    Parameters
    ----------
    logs : float array of shape (4 + n_players,)
        Logs of signal, linear, noise and proxy variance, then of the rates.
    mean : float array of shape (4 + n_players,)
        Mean of their prior.
    """

    logs: FloatArray
    mean: FloatArray

    @classmethod
    def initial(cls, n_players: int, relevance: FloatArray | None = None) -> Hyperparameters:
        """The prior mean; ``relevance`` (split gains, say) shares the rates out."""
        share = np.full(n_players, 1 / n_players)
        if relevance is not None and np.sum(relevance) > 0:
            share = (share + np.asarray(relevance) / np.sum(relevance)) / 2
        mean = np.concatenate([PRIOR_MEAN, np.log(RATE_SUM * share)])
        return cls(mean, mean)

    def kernel(self, scale: float, proxy: Proxy | None) -> OddKernel:
        """The kernel in the units of g, whose root mean square is ``scale``."""
        signal, linear, _, weight = np.exp(self.logs[:RATES])
        rates = np.exp(self.logs[RATES:])
        effects = np.zeros(len(rates)) if proxy is None else proxy.effects
        return OddKernel(signal * scale**2, rates, linear * scale**2, float(weight), effects)

    def noise(self, scale: float) -> float:
        """Learnt variance of the error of one value of v."""
        return float(np.exp(self.logs[NOISE]) * scale**2)

    def fitted(
        self,
        data: Observations,
        scale: float,
        max_iter: int = 60,
        even: Observations | None = None,
    ) -> Hyperparameters:
        """The best posterior mode from a few starts, by L-BFGS.

        What bends may be a signal or noise: values explained either way make two modes. ``even``
        are values of the even part, which is independent of the odd one given these parameters.
        """
        given = [data] if even is None else [data, even]
        limit = max(MAX_PAIRS, PAIRS_PER_PLAYER * data.points.signs.shape[1])
        sample = [part.thinned(limit).scaled(scale) for part in given]
        starts = [self.logs, *(self._noisy(noise) for noise in NOISE_STARTS)]
        found = [self._mode(start, sample, max_iter) for start in starts]
        logs, _ = min(found, key=lambda mode: mode[1])
        return Hyperparameters(logs, self.mean)

    def _noisy(self, noise: float) -> FloatArray:
        logs = self.mean.copy()
        logs[NOISE] = np.log(noise)
        return logs

    def _mode(
        self, start: FloatArray, sample: list[Observations], max_iter: int
    ) -> tuple[FloatArray, float]:
        result = minimize(
            negative_log_posterior,
            start,
            args=(sample[0], self.mean, *sample[1:]),
            method="L-BFGS-B",
            jac=True,
            bounds=Bounds(LOWEST, HIGHEST),
            options={"maxiter": max_iter, "ftol": 1e-6},
        )
        return np.asarray(result.x, dtype=np.float64), float(result.fun)


def root_mean_square(g: FloatArray) -> float:
    """Scale of the values, 1 when they are all 0."""
    return float(np.sqrt(np.mean(g**2))) or 1.0


def negative_log_posterior(
    logs: FloatArray, data: Observations, mean: FloatArray, even: Observations | None = None
) -> tuple[float, FloatArray]:
    """Minus the log of likelihood times prior, up to a constant, and its gradient."""
    sd = np.concatenate([PRIOR_SD, np.full(len(logs) - RATES, RATE_SD)])
    deviation = (logs - mean) / sd
    value, gradient = _likelihood(_Terms(logs, data), data.g)
    if even is not None:
        more, slope = _likelihood(_EvenTerms(logs, even), even.g)
        value, gradient = value + more, gradient + slope
    return value + float(deviation @ deviation) / 2, gradient + deviation / sd


def _likelihood(terms: _Terms | _EvenTerms, g: FloatArray) -> tuple[float, FloatArray]:
    """Return minus the log likelihood, and its gradient."""
    factor = stable_cholesky(terms.total)
    inverse = cho_solve((factor, True), np.eye(len(g)), check_finite=False)
    alpha = inverse @ g
    value = g @ alpha / 2 + np.log(np.diag(factor)).sum()
    return float(value), terms.gradient(inverse - np.outer(alpha, alpha))


class _Terms:
    """The summands of the covariance of the observations at given hyper-parameters."""

    def __init__(self, logs: FloatArray, data: Observations) -> None:
        self.data, self.signs = data, data.points.signs
        signal, linear, self.noise, self.proxy = np.exp(logs[:RATES])
        self.rates = np.exp(logs[RATES:])
        odd, even = decays(self.signs, self.signs, self.rates)
        self.smooth, self.even = 2 * signal * odd, 2 * signal * even
        self.linear = linear * (self.signs @ self.signs.T)
        noise = data.known + self.noise * data.learnt
        proxy = data.points.proxy
        self.total = self.smooth + self.linear + self.proxy * np.outer(proxy, proxy)
        self.total[np.diag_indices_from(self.total)] += noise

    def gradient(self, middle: FloatArray) -> FloatArray:
        """Half the trace of ``middle`` times the derivative of the covariance by each log."""
        by_signal = np.vdot(middle, self.smooth)
        by_linear = np.vdot(middle, self.linear)
        by_noise = self.noise * (np.diag(middle) @ self.data.learnt)
        proxy = self.data.points.proxy
        by_proxy = self.proxy * (proxy @ middle @ proxy)
        # d smooth / d rate_j = (x_j x_j' even - smooth) / 2, entry by entry.
        agreement = ((middle * self.even) @ self.signs * self.signs).sum(axis=0)
        by_rates = self.rates * (agreement - by_signal) / 2
        return np.concatenate([[by_signal, by_linear, by_noise, by_proxy], by_rates]) / 2


class _EvenTerms:
    """The same for values of the even part minus that of the full set; see `even_kernel`."""

    def __init__(self, logs: FloatArray, data: Observations) -> None:
        self.data = data
        # The full set stands last, to be taken off.
        self.signs = np.vstack([data.points.signs, np.ones((1, data.points.signs.shape[1]))])
        signal, self.noise = np.exp(logs[SIGNAL]), np.exp(logs[NOISE])
        self.rates = np.exp(logs[RATES:])
        odd, even = decays(self.signs, self.signs, self.rates)
        self.smooth, self.odd = 2 * signal * even, 2 * signal * odd
        self.total = self.smooth[:-1, :-1] - self.smooth[:-1, -1:] - self.smooth[-1:, :-1]
        self.total += self.smooth[-1, -1]
        self.total[np.diag_indices_from(self.total)] += data.known + self.noise * data.learnt

    def gradient(self, middle: FloatArray) -> FloatArray:
        """Half the trace of ``middle`` times the derivative of the covariance by each log."""
        by_noise = self.noise * (np.diag(middle) @ self.data.learnt)
        less = -middle.sum(axis=0)
        spread = np.block([[middle, less[:, None]], [less, -less.sum()]])
        by_signal = np.vdot(spread, self.smooth)
        # d even / d rate_j = (x_j x_j' odd - even) / 2, entry by entry.
        agreement = ((spread * self.odd) @ self.signs * self.signs).sum(axis=0)
        by_rates = self.rates * (agreement - by_signal) / 2
        return np.concatenate([[by_signal, 0.0, by_noise, 0.0], by_rates]) / 2
