"""Inputs that reproduce the outcome together: sums, differences, means, products, ratios.

Everything is looked for on some rows, by correlations and least squares, and then has to hold on
every row, up to the digits to which the columns are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.data.problem import Problem
from shaff.fitting.findings import Identity, Term

# Rows that are looked at first, and columns whose products and ratios are: for time only.
FIRST_ROWS, RATIO_ROWS, RATIO_COLUMNS = 1500, 300, 80
# Rows that must be left to contradict a fit.
SPARE_ROWS = 10
# Errors of numbers with all their digits, relative to their size.
EXACT = 1e-7
# Rounding may put a formula off by this share of the outcome's deviation: more, and a good
# approximation passes for an identity (`benchmarks.leaks`); the sooner, the more terms it has.
BLUR, BLUR_OF_MANY = 0.02, 0.005
# Rows that may be typing errors, as a share, and what a first look may therefore leave open of the
# variance: more, and time is spent on good approximations.
ERRORS, OPEN = 0.01, 0.02
# Identities that are looked for, pairs that are checked for it, and terms among which pairs and
# larger sets are looked for: for time only.
MOST, MOST_PAIRS, PAIR_TERMS, SUM_TERMS, FEW_TERMS = 5, 40, 1200, 500, 60
_DECIMALS = range(-3, 7)


def find_identities(problem: Problem, skip: Iterable[str] = ()) -> tuple[Identity, ...]:
    """Find formulas that give the outcome from two or more inputs; those of ``skip`` do not count.

    None for several outputs and for more than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from shaff.data.problem import Problem
    >>> from shaff.fitting.checks.identities import find_identities
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> found, = find_identities(Problem.of(X, X[:, 1] - X[:, 3]))
    >>> found.names, [round(term.weight, 6) for term in found.terms]
    (('x1', 'x3'), [1.0, -1.0])
    """
    if problem.y.shape[1] > 1:
        return ()
    search = _Search.of(problem, frozenset(skip))
    if len(search.rows) < SPARE_ROWS + 3:
        return ()
    found: dict[frozenset[str], Identity] = {}
    for identity in (*search.of_two(), *search.of_products()):
        found.setdefault(frozenset(identity.names), identity)
    for identity in search.of_many({name for names in found for name in names}):
        found.setdefault(frozenset(identity.names), identity)
    return tuple(found.values())[:MOST]


class _Blurred(NamedTuple):
    """Numbers, and by how much rounding may have changed each of them."""

    value: FloatArray
    blur: FloatArray

    def log(self) -> _Blurred:
        """The logarithms of the sizes."""
        size = np.abs(self.value)
        with np.errstate(divide="ignore", invalid="ignore"):
            return _Blurred(np.log(size), self.blur / size)

    def times(self, other: _Blurred, power: int) -> _Blurred:
        """The product with another, or the ratio."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.value * other.value**power
            share = self.blur / np.abs(self.value) + other.blur / np.abs(other.value)
            return _Blurred(value, np.abs(value) * share)

    def take(self, rows: IntpArray) -> _Blurred:
        """Some of the rows."""
        return _Blurred(self.value[rows], self.blur[rows])


@dataclass(frozen=True, eq=False)
class _System:
    """Terms on some rows, and the outcome that they shall give."""

    terms: tuple[Term, ...]
    X: _Blurred
    y: _Blurred
    of_log: bool

    def take(self, places: Iterable[int]) -> _System:
        """Return some of the terms."""
        own = list(places)
        columns = _Blurred(self.X.value[:, own], self.X.blur[:, own])
        return replace(self, terms=tuple(self.terms[k] for k in own), X=columns)

    def on(self, rows: IntpArray) -> _System:
        """Return the same terms on some of the rows."""
        return replace(self, X=self.X.take(rows), y=self.y.take(rows))

    def without(self, names: set[str]) -> _System:
        """Return the terms without these inputs."""
        return self.take(k for k, t in enumerate(self.terms) if t.inputs[0][0] not in names)

    def fit(self) -> _Fit:
        """Least squares of the outcome on the terms."""
        X, y = self.X.value, self.y.value
        mean, spread = X.mean(axis=0), X.std(axis=0)
        spread = np.where(spread > 1e-12 * (1 + np.abs(mean)), spread, np.inf)
        weights = _least_squares((X - mean) / spread, y - y.mean()) / spread
        return _Fit(weights, float(y.mean() - mean @ weights), len(y))

    def robust_fit(self) -> _Fit:
        """Least squares without the rows that are far off, which may be typing errors."""
        fit = self.fit()
        for _ in range(3):
            error = fit.errors(self)
            fit = self.on(np.flatnonzero(error <= np.quantile(error, 1 - 2 * ERRORS))).fit()
        return fit

    def given_by_others(self) -> _Fit | None:
        """Return a fit on two thirds of the rows, if it holds on the others."""
        n_rows = len(self.y.value)
        n_fit = min(2 * n_rows // 3, n_rows - SPARE_ROWS)
        if n_fit < len(self.terms) + SPARE_ROWS:
            return None
        fit = self.on(np.arange(n_fit)).fit()
        return fit if any(fit.holds(self.on(np.arange(n_fit, n_rows)))) else None


@dataclass(frozen=True, eq=False)
class _Fit:
    """A formula: weights of terms and a constant, from so many rows."""

    weights: FloatArray
    constant: float
    n_rows: int

    def errors(self, system: _System) -> FloatArray:
        """How far each row is off."""
        return np.asarray(np.abs(system.y.value - system.X.value @ self.weights - self.constant))

    def holds(self, system: _System) -> tuple[bool, bool]:
        """Whether it gives the outcome: to all digits, and to those that are written.

        A few rows may be typing errors.
        """
        exact, rounded = self._rows(system)
        enough, error = (1 - ERRORS) * len(exact), self.errors(system)
        if rounded.sum() < enough:
            return False, False
        off, spread = np.sqrt((error[rounded] ** 2).mean()), system.y.value[rounded].std()
        blur = BLUR if len(self.weights) <= 2 else BLUR_OF_MANY
        is_close = spread > 0 and off <= blur * spread
        return bool(is_close and exact.sum() >= enough), bool(is_close)

    def n_exceptions(self, system: _System) -> int:
        """Number of rows that it does not give."""
        return int((~self._rows(system)[1]).sum())

    def _rows(self, system: _System) -> tuple[BoolArray, BoolArray]:
        """Rows that it gives to all digits, and to those that are written."""
        (X, X_blur), (y, y_blur) = system.X, system.y
        error, sizes = self.errors(system), np.abs(self.weights)
        rounding = EXACT * (np.abs(X) @ sizes + np.abs(y) + abs(self.constant))
        exact = error <= np.minimum(rounding, 100 * EXACT * y.std())
        # The weights are a little off for the same reason, the more so the fewer rows they rest on.
        slack = 1.1 + 5 * np.sqrt(len(sizes) / max(self.n_rows - len(sizes), 1))
        return exact, exact | (error <= slack * (y_blur + X_blur @ sizes) + rounding)


@dataclass(frozen=True, eq=False)
class _Search:
    """Columns of numbers, and rows on which they are looked at first."""

    problem: Problem
    names: tuple[str, ...]
    rows: IntpArray

    @classmethod
    def of(cls, problem: Problem, skip: frozenset[str]) -> _Search:
        """Choose columns and rows without gaps: at least half of all rows."""
        some = np.random.default_rng(0).permutation(len(problem.X))[:FIRST_ROWS]
        X, names = problem.X[some], np.array(problem.table.names, dtype=object)
        with np.errstate(invalid="ignore"):
            usable = ~problem.categorical & (np.ptp(np.nan_to_num(X), axis=0) > 0)
        usable &= np.array([name not in skip for name in names], dtype=bool)
        columns = np.flatnonzero(usable)
        gaps = np.isnan(X[:, columns])
        while gaps.any() and gaps.any(axis=1).mean() > 0.5:
            worst = int(gaps.sum(axis=0).argmax())
            columns, gaps = np.delete(columns, worst), np.delete(gaps, worst, axis=1)
        return cls(problem, tuple(names[columns]), some[~gaps.any(axis=1)])

    def system(
        self, terms: Iterable[Term], rows: IntpArray | None, of_log: bool = False
    ) -> _System:
        """Evaluate terms on rows, or on all in which they are known."""
        own = tuple(terms)
        at = np.arange(len(self.problem.X)) if rows is None else rows
        parts = [self._term(term, at) for term in own]
        y = _blurred(self.problem.y[at, 0])
        y = y.log() if of_log else y
        columns = _Blurred(*(np.stack([part[k] for part in parts], axis=1) for k in (0, 1)))
        system = _System(own, columns, y, of_log)
        if rows is not None:
            return system
        known = np.isfinite(columns.value).all(axis=1) & np.isfinite(columns.blur).all(axis=1)
        return system.on(np.flatnonzero(known))

    def _term(self, term: Term, rows: IntpArray) -> _Blurred:
        place = self.problem.table.names.index
        first, *more = (_blurred(self.problem.X[rows, place(name)]) for name, _ in term.inputs)
        for factor, (_, power) in zip(more, term.inputs[1:], strict=True):
            first = first.times(factor, power)
        return first.log() if term.is_log else first

    def identity(self, terms: Iterable[Term], of_log: bool) -> Identity | None:
        """Return the formula of all terms, if it holds in every row."""
        system = self.system(terms, None, of_log)
        rows = np.random.default_rng(0).permutation(len(system.y.value))
        if len(rows) < SPARE_ROWS + len(system.terms) + 1:
            return None
        some = system.on(rows[:FIRST_ROWS])
        fit = some.fit()
        if not any(fit.holds(system)):
            fit = some.robust_fit()
        exact, rounded = fit.holds(system)
        does = np.abs(fit.weights) * system.X.value.std(axis=0) > EXACT * system.y.value.std()
        if not (exact or rounded) or not does.all():
            return None
        weighted = zip(system.terms, fit.weights, strict=True)
        formula = tuple(replace(term, weight=float(weight)) for term, weight in weighted)
        blur = (system.y.blur + system.X.blur @ np.abs(fit.weights)).mean()
        # A constant that rounding explains is none.
        constant = fit.constant if exact or abs(fit.constant) > blur else 0.0
        return Identity(formula, constant, of_log, not exact, fit.n_exceptions(system))

    @cached_property
    def systems(self) -> list[tuple[_System, _System]]:
        """For the outcome, and for its logarithm: terms of the same kind, and terms of both."""
        return list(self._systems())

    def _systems(self) -> Iterator[tuple[_System, _System]]:
        plain = tuple(Term(1.0, ((name, 1),)) for name in self.names)
        if not plain:
            return
        X = self.system(plain, self.rows).X.value
        nonzero = (X != 0).all(axis=0)
        logs = tuple(replace(t, is_log=True) for t, has in zip(plain, nonzero, strict=True) if has)
        few = len(plain) + len(logs) <= PAIR_TERMS
        yield self.system(plain, self.rows), self.system(plain + logs * few, self.rows)
        if logs and (self.problem.y > 0).all():
            both = logs + plain * few
            yield self.system(logs, self.rows, True), self.system(both, self.rows, True)

    def of_two(self) -> Iterator[Identity]:
        """Formulas of two terms, each an input or its logarithm."""
        for _, system in self.systems:
            for one, other in _explaining_pairs(system.X.value, system.y.value):
                terms = system.take([one, other]).terms
                identity = self.identity(terms, system.of_log)
                if identity is not None and len(identity.names) == 2:
                    yield identity

    def of_products(self) -> Iterator[Identity]:
        """A product or ratio of two inputs, times a number plus another: a rate of growth, say."""
        if not 2 <= len(self.names) <= RATIO_COLUMNS:
            return
        rows = self.rows[:RATIO_ROWS]
        X = self.problem.X[rows][:, [self.problem.table.names.index(name) for name in self.names]]
        t = _units(self.problem.y[rows])[:, 0]
        for one, name in enumerate(self.names):
            for other, power in _factors(X, t, one):
                term = Term(1.0, ((name, 1), (self.names[other], power)))
                identity = self.identity([term], False)
                if identity is not None:
                    yield identity

    def of_many(self, used: set[str]) -> Iterator[Identity]:
        """Sums and products of more inputs, one set of them after the other."""
        for whole, _ in self.systems:
            left = whole.without(used)
            for _ in range(MOST):
                found = _fewest(left) if 0 < len(left.terms) <= SUM_TERMS else None
                identity = None if found is None else self.identity(found.terms, found.of_log)
                if identity is None:
                    break
                yield identity
                left = left.without(set(identity.names))


def _blurred(x: FloatArray) -> _Blurred:
    return _Blurred(x, np.full(len(x), _resolution(x) / 2))


def _resolution(x: FloatArray) -> float:
    """The unit of the last digit to which numbers are written; 0 where they have all digits."""
    some = x[:FIRST_ROWS]
    some = some[np.isfinite(some)]
    for decimals in _DECIMALS:
        scaled = some * 10.0**decimals
        if (np.abs(scaled - np.round(scaled)) <= 1e-6).all() and np.abs(scaled).max(
            initial=0
        ) < 1e9:
            return float(10.0**-decimals)
    return 0.0


def _least_squares(X: FloatArray, y: FloatArray) -> FloatArray:
    """The shortest solution, by the normal equations where there are many columns, for time."""
    if X.shape[1] <= FEW_TERMS:
        return np.asarray(np.linalg.lstsq(X, y, rcond=1e-9)[0])
    sizes, axes = np.linalg.eigh(X.T @ X)
    known = sizes > 1e-12 * sizes.max()
    axes, sizes = axes[:, known], sizes[known]
    weights = np.zeros(X.shape[1])
    for _ in range(2):  # the second time for the digits that the first has lost
        weights += axes @ ((axes.T @ (X.T @ (y - X @ weights))) / sizes)
    return weights


def _explaining_pairs(X: FloatArray, y: FloatArray) -> list[tuple[int, int]]:
    """Pairs of columns whose least squares leave next to nothing of y, the best first."""
    if not 2 <= X.shape[1] <= PAIR_TERMS:
        return []
    Z, t = _units(X), _units(y[:, None])[:, 0]
    gram, own = Z.T @ Z, Z.T @ t
    free = np.maximum(1 - gram**2, 1e-10)
    explained = (own[:, None] ** 2 + own**2 - 2 * np.outer(own, own) * gram) / free
    first, second = np.triu_indices(len(own), 1)
    left = np.abs(1 - explained[first, second])
    good = np.flatnonzero(left < OPEN)
    best = good[np.argsort(left[good], kind="stable")][:MOST_PAIRS]
    return [(int(first[k]), int(second[k])) for k in best]


def _units(X: FloatArray) -> FloatArray:
    """Centred columns of length 1; 0 where they do not vary."""
    centred = X - X.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    least = 1e-12 * np.sqrt(len(X)) * (1 + np.abs(X).max(axis=0, initial=0.0))
    return np.asarray(centred / np.where(size > least, size, np.inf))


def _factors(X: FloatArray, t: FloatArray, one: int) -> Iterator[tuple[int, int]]:
    """What a column has to be multiplied with, or divided by, to go with the outcome."""
    inverse = np.where(X == 0, np.nan, X)
    for power, with_it in ((1, X[:, [one]] * X), (-1, X[:, [one]] / inverse)):
        usable = ~np.isnan(with_it).any(axis=0)
        left = 1 - (t @ _units(np.where(usable, with_it, 0.0))) ** 2
        for other in np.flatnonzero(left < OPEN):
            if other > one or (power == -1 and other != one):
                yield int(other), power


def _fewest(system: _System) -> _System | None:
    """Return terms that give the outcome, none of which can be left out; None without any."""
    fit = system.given_by_others()
    if fit is None:
        return None
    step = _idle(system, fit) or len(system.terms) // 2
    while step:
        order = np.argsort(_parts(system, fit), kind="stable")
        smaller = system.take(np.sort(order[step:]).tolist())
        found = smaller.given_by_others() if smaller.terms else None
        if found is None:
            step //= 2
        else:
            system, fit = smaller, found
            step = min(step, len(system.terms) // 2)
    return _each_needed(system)


def _parts(system: _System, fit: _Fit) -> FloatArray:
    """Deviation of what each term adds."""
    return np.asarray(np.abs(fit.weights) * system.X.value.std(axis=0))


def _idle(system: _System, fit: _Fit) -> int:
    """Number of terms that add nothing."""
    return int((_parts(system, fit) < 10 * EXACT * system.y.value.std()).sum())


def _each_needed(system: _System) -> _System:
    """Leave out one term after the other, as long as the rest will do."""
    for term in system.terms:
        rest = system.take(k for k, other in enumerate(system.terms) if other is not term)
        if rest.terms and rest.given_by_others() is not None:
            system = rest
    return system
