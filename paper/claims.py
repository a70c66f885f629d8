"""The paper's claims in words, checked against our runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from paper.results import Results
from shaff._util.typing import FloatArray

# What "as good as", "divided by two" and "much stronger" are taken to mean of errors, and "near 0"
# and "much less important" of effects.
SIMILAR, HALF, FAR = 1.25, 0.6, 2.0
NEAR_ZERO, MUCH_LOWER = 0.02, 0.8


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
        if not pairs:
            return None
        ours, theirs = np.array([[run.error for run in pair] for pair in pairs]).T
        text = f"{ours.mean():.3f} against {theirs.mean():.3f}"
        if len(pairs) > 1:
            text += f" ± {(ours - theirs).std(ddof=1) / np.sqrt(len(pairs)):.3f}"
        return Verdict(judge(sign * (factor * theirs - ours)), f"{text} ({len(pairs)})")

    return check


def _more(
    system: str, other: str, experiment: str, factor: float = 1.0
) -> Callable[[Results], Verdict | None]:
    return _less(system, other, experiment, factor, sign=-1)


def _effects(
    system: str, experiment: str, margin: Callable[[FloatArray], float], shown: tuple[int, ...]
) -> Callable[[Results], Verdict | None]:
    """Judge the effects of one system, and show the means of those numbered in ``shown``."""

    def check(results: Results) -> Verdict | None:
        effects = results.effects(system, experiment)
        if effects is None:
            return None
        mean = effects.mean(axis=0)
        text = ", ".join(f"X{j} {mean[j - 1]:.3f}" for j in shown)
        margins = np.array([margin(repetition) for repetition in effects])
        return Verdict(judge(margins), f"{text} ({len(effects)})")

    return check


def _ahead(other: str, label: str, experiment: str) -> Claim:
    return Claim(
        f"SHAFF is more accurate than {label} in experiment {experiment}.",
        _less("shaff_published", other, experiment),
    )


def _near_zero(effects: FloatArray) -> float:
    """Return by how much X5 and X6 of experiment 3 stay below what counts as near 0."""
    return float(NEAR_ZERO - effects[4:].max())


def _not_near_zero(effects: FloatArray) -> float:
    return -_near_zero(effects)


def _third_first(effects: FloatArray) -> float:
    """Return by how much X3 is above X1 and X2."""
    return float(effects[2] - effects[:2].max())


def _third_last(effects: FloatArray) -> float:
    return float(effects[:2].min() - effects[2])


def _much_lower_third(effects: FloatArray) -> float:
    return float(MUCH_LOWER * effects[:2].min() - effects[2])


def _eighth_first(effects: FloatArray) -> float:
    """Return by how much X8 is above X6 and X7."""
    return float(effects[7] - effects[5:7].max())


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
        "SHAFF finds X3 the most important variable of experiment 2.",
        _effects("shaff_published", "2", _third_first, (1, 2, 3)),
    ),
    Claim(
        "SHAFF ranks X8 above X6 and X7 in experiment 2.",
        _effects("shaff_published", "2", _eighth_first, (6, 7, 8)),
    ),
    Claim(
        "SAGE puts X1 and X2 above X3 in experiment 2.",
        _effects("sage", "2", _third_last, (1, 2, 3)),
    ),
    Claim(
        "SHAFF gives X5 and X6 of experiment 3 effects near 0.",
        _effects("shaff_published", "3", _near_zero, (5, 6)),
    ),
    Claim(
        "MDI does not: it favours factors with many levels.",
        _effects("mdi", "3", _not_near_zero, (5, 6)),
    ),
    Claim(
        "SAGE also suffers from factors with many levels.",
        _effects("sage", "3", _not_near_zero, (5, 6)),
    ),
    Claim(
        "SAGE finds X3 of experiment 3 much less important than X1 and X2.",
        _effects("sage", "3", _much_lower_third, (1, 2, 3)),
    ),
    Claim("So does MDI.", _effects("mdi", "3", _much_lower_third, (1, 2, 3))),
)
