"""The paper's claims in words, checked against our runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import f, t

from paper.results import Results
from paper.systems import EXPERIMENTS
from shaff._util.typing import FloatArray

# What the paper's words about errors are taken to mean: "as efficient" and "competitive", "divided
# by two", "much stronger bias". Its words about effects need no number: "significantly less" is a
# test, "overestimates" a sign, "null" what a system without that fault finds.
SIMILAR, HALF, FAR = 1.25, 0.6, 2.0


@dataclass(frozen=True)
class Verdict:
    """Verdict on a claim (None if our repetitions do not decide it) and the numbers behind it."""

    holds: bool | None
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and its check, which finds None without runs."""

    text: str
    check: Callable[[Results], Verdict | None]


def judge(margins: FloatArray) -> bool | None:
    """Is the mean margin above 0, by a t-test at 5 % over the repetitions?

    Parameters
    ----------
    margins : ndarray
        Of each repetition: how far the claim is from failing, negative where it fails.

    Returns
    -------
    bool or None
        None where the repetitions do not decide, as one alone never does.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.claims import judge
    >>> judge(np.array([0.2, 0.3, 0.2])), judge(np.array([-0.3, -0.2, -0.2]))
    (True, False)
    >>> judge(np.array([0.2, -0.1, 0.1])), judge(np.array([0.2]))
    (None, None)
    """
    if len(margins) < 2:
        return None
    error = margins.std(ddof=1) / np.sqrt(len(margins))
    if abs(margins.mean()) <= t.ppf(0.975, len(margins) - 1) * error:
        return None
    return bool(margins.mean() > 0)


def _less(
    system: str, other: str, experiment: str, factor: float = 1.0, sign: int = 1
) -> Callable[[Results], Verdict | None]:
    """Is the error of a system less than ``factor`` times that of another on the same data?

    ``sign`` -1 turns the question round: is it more?
    """

    def check(results: Results) -> Verdict | None:
        pairs = results.pairs(system, other, experiment)
        if not pairs.runs:
            return None
        ours, theirs = pairs.of(0, "error"), pairs.of(1, "error")
        text = f"{ours.mean():.3f} against {theirs.mean():.3f}"
        if len(ours) > 1:
            text += f" ± {(ours - theirs).std(ddof=1) / np.sqrt(len(ours)):.3f}"
        return Verdict(judge(sign * (factor * theirs - ours)), f"{text} {pairs}")

    return check


def _more(
    system: str, other: str, experiment: str, factor: float = 1.0
) -> Callable[[Results], Verdict | None]:
    return _less(system, other, experiment, factor, sign=-1)


def _effects(
    system: str,
    experiment: str,
    margins: Callable[[FloatArray], FloatArray],
    shown: tuple[int, ...],
) -> Callable[[Results], Verdict | None]:
    """Judge the effects of one system, and show the means of those numbered in ``shown``.

    A claim may have several margins, and holds if each does by itself.
    """

    def check(results: Results) -> Verdict | None:
        found = results.single(system, experiment)
        if not found.runs:
            return None
        effects = found.of(0, "effects")
        mean = effects.mean(axis=0)
        text = ", ".join(f"X{j} {mean[j - 1]:.3f}" for j in shown)
        words = {judge(margin) for margin in np.array([margins(each) for each in effects]).T}
        holds = False if False in words else (None if None in words else True)
        return Verdict(holds, f"{text} {found}")

    return check


def _opposite(check: Callable[[Results], Verdict | None]) -> Callable[[Results], Verdict | None]:
    """The claim that another one does not hold."""

    def turned(results: Results) -> Verdict | None:
        found = check(results)
        if found is None or found.holds is None:
            return found
        return Verdict(not found.holds, found.numbers)

    return turned


def _ahead(other: str, label: str, experiment: str) -> Claim:
    return Claim(
        f"SHAFF is more accurate than {label} in experiment {experiment}.",
        _less("shaff_published", other, experiment),
    )


def _third_first(effects: FloatArray) -> FloatArray:
    """Return by how much X3 is above X1 and X2."""
    return np.asarray(effects[2] - effects[:2])


def _third_lower(effects: FloatArray) -> FloatArray:
    """Return by how much X3 is below X1 and X2."""
    return np.asarray(effects[:2] - effects[2])


def _above_truth(experiment: str, variables: tuple[int, ...]) -> Callable[[FloatArray], FloatArray]:
    """Return by how much some variables are above their exact effects."""
    which = np.array(variables) - 1
    exact = EXPERIMENTS[experiment](50, 0).effects[which]
    return lambda effects: effects[which] - exact


def _ranked(effects: FloatArray) -> FloatArray:
    """Return by how much the groups of experiment 2 with equal exact effects are in order.

    From the largest: X3; X1 and X2; X8; X6 and X7; X4 and X5; X9 and X10; the dummies.
    """
    groups = ([2], [0, 1], [7], [5, 6], [3, 4], [8, 9], [10, 11, 12, 13, 14])
    means = np.array([effects[group].mean() for group in groups])
    return -np.diff(means)


def _less_null(system: str, other: str) -> Callable[[Results], Verdict | None]:
    """Does a system give X6 of experiment 3, a factor of 100 levels that tells nothing, less?"""

    def check(results: Results) -> Verdict | None:
        pairs = results.pairs(system, other, "3")
        if not pairs.runs:
            return None
        first, second = (pairs.of(k, "effects")[:, 5] for k in (0, 1))
        numbers = f"X6 {first.mean():.3f} against {second.mean():.3f} {pairs}"
        return Verdict(judge(second - first), numbers)

    return check


def _more_spread(system: str, other: str, experiment: str) -> Callable[[Results], Verdict | None]:
    """Is the variance of a system's effects over the repetitions larger, by an F-test?"""

    def check(results: Results) -> Verdict | None:
        pairs = results.pairs(other, system, experiment)
        if len(pairs.runs) < 2:
            return None
        effects = [pairs.of(k, "effects") for k in (1, 0)]
        spread = [np.var(found, axis=0, ddof=1).sum() for found in effects]
        degrees = (len(effects[0]) - 1) * effects[0].shape[1]
        ratio = float(spread[0] / spread[1])
        high = float(f.ppf(0.975, degrees, degrees))
        decided = ratio > high or ratio < 1 / high
        holds = ratio > 1 if decided else None
        return Verdict(holds, f"variances {spread[0]:.4f} and {spread[1]:.4f} {pairs}")

    return check


def _explained(experiment: str, printed: float) -> Callable[[Results], Verdict | None]:
    """Does the forest explain what the paper prints, to its two digits?"""

    def check(results: Results) -> Verdict | None:
        found = results.single("shaff_published", experiment)
        if not found.runs:
            return None
        explained = found.of(0, "explained")
        holds = bool(abs(explained.mean() - printed) <= 0.01) if len(explained) > 1 else None
        return Verdict(holds, f"{explained.mean():.3f} ± {explained.std():.3f} {found}")

    return check


def _faster(system: str, other: str, experiment: str) -> Callable[[Results], Verdict | None]:
    """Does a system take less processor time than another?"""

    def check(results: Results) -> Verdict | None:
        pairs = results.pairs(other, system, experiment)
        if not pairs.runs:
            return None
        theirs, ours = pairs.of(0, "seconds"), pairs.of(1, "seconds")
        numbers = f"{ours.mean():.0f} s against {theirs.mean():.0f} s {pairs}"
        return Verdict(judge(theirs - ours), numbers)

    return check


CLAIMS: tuple[Claim, ...] = (
    *(
        _ahead(system, label, experiment)
        for experiment in ("1a", "1b", "2")
        for system, label in (("williamson", "Williamson"), ("sage", "SAGE"))
    ),
    *(
        Claim(
            f"Importance sampling halves the error of paired Monte-Carlo (PRF values, {name}).",
            _less("shaff_published", "pairs_projected", name, HALF),
        )
        for name in ("1a", "2")
    ),
    *(
        Claim(
            f"The projected forest is competitive with retrained forests (pIS, {name}).",
            _less("shaff_published", "paths_retrained", name, SIMILAR),
        )
        for name in ("1a", "2")
    ),
    *(
        Claim(
            f"TreeSHAP has a much stronger bias (pIS, {name}).",
            _more("paths_tree_shap", "shaff_published", name, FAR),
        )
        for name in ("1a", "2")
    ),
    Claim(
        "Marginals are as efficient as the projected forest where the function is linear (1a).",
        _less("paths_marginal", "shaff_published", "1a", SIMILAR),
    ),
    Claim(
        "Marginals are worse than the projected forest with interactions (2).",
        _more("paths_marginal", "shaff_published", "2"),
    ),
    Claim(
        "Williamson's variance is higher than that of the other methods (1a; here: than SHAFF's).",
        _more_spread("williamson", "shaff_published", "1a"),
    ),
    Claim(
        "The forest explains about 86 % of the variance in experiment 1a.", _explained("1a", 0.86)
    ),
    Claim("The forest explains about 84 % in experiment 2.", _explained("2", 0.84)),
    Claim(
        "SHAFF provides the accurate ranking in experiment 2.",
        _effects("shaff_published", "2", _ranked, (3, 1, 2, 8, 6, 7, 4, 5, 9, 10)),
    ),
    Claim(
        "It is the only one: SAGE does not.",
        _opposite(_effects("sage", "2", _ranked, (3, 1, 2, 8, 6, 7, 4, 5, 9, 10))),
    ),
    Claim(
        "SHAFF identifies X3 as the most important variable of experiment 2.",
        _effects("shaff_published", "2", _third_first, (1, 2, 3)),
    ),
    Claim(
        "SAGE overestimates X1 and X2 of experiment 2 (exact: 0.199).",
        _effects("sage", "2", _above_truth("2", (1, 2)), (1, 2)),
    ),
    Claim(
        "MDI has a strong bias for X6 of experiment 3; SHAFF accurately estimates a null effect.",
        _less_null("shaff_published", "mdi"),
    ),
    Claim("SAGE also suffers from this problem.", _less_null("shaff_published", "sage")),
    Claim(
        "SAGE wrongly finds X3 of experiment 3 significantly less important than X1 and X2.",
        _effects("sage", "3", _third_lower, (1, 2, 3)),
    ),
    Claim("So does MDI.", _effects("mdi", "3", _third_lower, (1, 2, 3))),
    Claim(
        "SAGE is faster than SHAFF while p is below K (1a, p = 15).",
        _faster("sage", "shaff_published", "1a"),
    ),
)
