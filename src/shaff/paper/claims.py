"""The paper's claims in words, checked against our runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shaff.paper.results import Results

# What "as good as", "divided by two" and "much stronger" are taken to mean.
SIMILAR, HALF, FAR = 1.25, 0.6, 2.0
NEAR_ZERO = 0.02

Verdict = tuple[bool, str] | None


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and its check: whether it holds, and numbers; None without runs."""

    text: str
    check: Callable[[Results], Verdict]


def _ratio(
    system: str, other: str, experiment: str, holds: Callable[[float], bool]
) -> Callable[[Results], Verdict]:
    """Compare the mean errors of two systems on the same data by their ratio."""

    def check(results: Results) -> Verdict:
        pairs = results.pairs(system, other, experiment)
        if not pairs:
            return None
        errors = np.array([[run.error for run in pair] for pair in pairs])
        ours, theirs = errors.mean(axis=0)
        text = f"{ours:.3f} against {theirs:.3f}"
        if len(pairs) > 1:
            text += f" ± {np.diff(errors, axis=1).std(ddof=1) / np.sqrt(len(pairs)):.3f}"
        return holds(float(ours / theirs)), f"{text} ({len(pairs)})"

    return check


def _mean_effects(system: str, experiment: str, holds: Callable[[np.ndarray], bool],
                  shown: tuple[int, ...]) -> Callable[[Results], Verdict]:  # fmt: skip
    """Look at the mean effects of one system; the verdict names the variables in ``shown``."""

    def check(results: Results) -> Verdict:
        effects = results.effects(system, experiment)
        if effects is None:
            return None
        mean = effects.mean(axis=0)
        text = ", ".join(f"X{j} {mean[j - 1]:.3f}" for j in shown)
        return bool(holds(mean)), f"{text} ({len(effects)})"

    return check


def _ahead(other: str, label: str, experiment: str) -> Claim:
    check = _ratio("shaff_published", other, experiment, lambda ratio: ratio < 1)
    return Claim(f"SHAFF is more accurate than {label} in experiment {experiment}.", check)


def _much_lower_third(mean: np.ndarray) -> bool:
    return bool(mean[2] < 0.8 * min(mean[0], mean[1]))


CLAIMS: tuple[Claim, ...] = (
    *(
        _ahead(system, label, experiment)
        for experiment in ("1a", "1b", "2")
        for system, label in (("williamson", "Williamson"), ("sage", "SAGE"))
    ),
    *(
        Claim(
            f"Importance sampling halves the error of paired Monte-Carlo (PRF values, {name}).",
            _ratio("shaff_published", "pairs_projected", name, lambda ratio: ratio < HALF),
        )
        for name in ("1a", "2")
    ),
    *(
        Claim(
            f"The projected forest is competitive with retrained forests (pIS, {name}).",
            _ratio("shaff_published", "paths_retrained", name, lambda ratio: ratio < SIMILAR),
        )
        for name in ("1a", "2")
    ),
    *(
        Claim(
            f"TreeSHAP has a much stronger bias (pIS, {name}).",
            _ratio("paths_tree_shap", "shaff_published", name, lambda ratio: ratio > FAR),
        )
        for name in ("1a", "2")
    ),
    Claim(
        "Marginals are as efficient as the projected forest where the function is linear (1a).",
        _ratio("paths_marginal", "shaff_published", "1a", lambda ratio: ratio < SIMILAR),
    ),
    Claim(
        "Marginals are worse than the projected forest with interactions (2).",
        _ratio("paths_marginal", "shaff_published", "2", lambda ratio: ratio > 1),
    ),
    Claim(
        "SHAFF finds X3 the most important variable of experiment 2.",
        _mean_effects("shaff_published", "2", lambda mean: mean.argmax() == 2, (1, 2, 3)),
    ),
    Claim(
        "SHAFF ranks X8 above X6 and X7 in experiment 2.",
        _mean_effects("shaff_published", "2", lambda m: m[7] > max(m[5], m[6]), (6, 7, 8)),
    ),
    Claim(
        "SAGE puts X1 and X2 above X3 in experiment 2.",
        _mean_effects("sage", "2", lambda mean: min(mean[0], mean[1]) > mean[2], (1, 2, 3)),
    ),
    Claim(
        "SHAFF gives X5 and X6 of experiment 3 effects near 0.",
        _mean_effects("shaff_published", "3", lambda m: m[4:].max() < NEAR_ZERO, (5, 6)),
    ),
    Claim(
        "MDI does not: it favours factors with many levels.",
        _mean_effects("mdi", "3", lambda mean: mean[4:].max() > NEAR_ZERO, (5, 6)),
    ),
    Claim(
        "SAGE also suffers from factors with many levels.",
        _mean_effects("sage", "3", lambda mean: mean[4:].max() > NEAR_ZERO, (5, 6)),
    ),
    Claim(
        "SAGE finds X3 of experiment 3 much less important than X1 and X2.",
        _mean_effects("sage", "3", _much_lower_third, (1, 2, 3)),
    ),
    Claim(
        "So does MDI.",
        _mean_effects("mdi", "3", _much_lower_third, (1, 2, 3)),
    ),
)
