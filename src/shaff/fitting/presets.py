"""The other systems of the paper's Table 1, each a triple of the same parts.

A preset names a value function, a design and a solver; a new system is one entry of `PRESETS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shaff.errors import InputError
from shaff.values.published.systems import PublishedValues


@dataclass(frozen=True)
class Preset:
    """One system of the paper's Table 1.

    Parameters
    ----------
    reference : str
        The publication.
    values, design, solver : str
        Names of the three steps.
    n_subsets : int or None
        Evaluations by default; None for a design that has no choice.
    options : dict
        Options of the value function.
    departure : str
        Where this differs from the publication.
    """

    reference: str
    values: str
    design: str
    solver: str
    n_subsets: int | None = 500
    options: Mapping[str, Any] = field(default_factory=dict)
    departure: str = ""

    def settings(self, options: Mapping[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
        """Return the settings of `ShapleyEffects`; those given override the preset's."""
        reference = f"{self.reference}. {self.departure}".strip()
        model = settings.pop("estimator", None)
        published = PublishedValues(
            self.values, model, {**self.options, **(options or {})}, reference=reference
        )
        steps = {"design": self.design, "solver": self.solver, "n_subsets": self.n_subsets}
        return {"estimator": published, **steps, **settings}


def find_preset(name: str) -> Preset:
    """Return the preset of that name, or raise an error that lists the names."""
    if name not in PRESETS:
        raise InputError(f"preset {name!r} is unknown: use one of {', '.join(PRESETS)}.")
    return PRESETS[name]


_LEAST_SQUARES = "least_squares"
_LOCAL = "Local in its publication; its expectations are evaluated as v(U)."

PRESETS: dict[str, Preset] = {
    "song": Preset(
        "Song, Nelson & Staum (2016)",
        "gaussian",
        "permutations",
        "permutations",
        departure="Give `mean`, `covariance` and a KnownModel for the setting of the publication.",
    ),
    "kernel_shap": Preset(
        "Lundberg & Lee (2017), kernelSHAP",
        "marginal",
        "monte_carlo",
        _LEAST_SQUARES,
        departure=_LOCAL,
    ),
    "tree_shap": Preset(
        "Lundberg, Erion & Lee (2018), TreeSHAP",
        "path_dependent",
        "paired_draws",
        _LEAST_SQUARES,
        departure=f"{_LOCAL} Over all subsets in its publication.",
    ),
    "aas_gaussian": Preset(
        "Aas, Jullum & Løland (2021)", "gaussian", "kernel_draws", _LEAST_SQUARES, departure=_LOCAL
    ),
    "aas_copula": Preset(
        "Aas, Jullum & Løland (2021)",
        "gaussian",
        "kernel_draws",
        _LEAST_SQUARES,
        options={"conditional": "copula"},
        departure=_LOCAL,
    ),
    "aas_empirical": Preset(
        "Aas, Jullum & Løland (2021)",
        "gaussian",
        "kernel_draws",
        _LEAST_SQUARES,
        options={"conditional": "empirical", "n_draws": 100},
        departure=_LOCAL,
    ),
    "sage": Preset(
        "Covert, Lundberg & Lee (2020), SAGE",
        "marginal",
        "permutations",
        "permutations",
        departure="Every subset is evaluated on all rows; the publication draws one row an order.",
    ),
    "broto": Preset(
        "Broto, Bachoc & Depecker (2020), all subsets",
        "neighbours",
        "exhaustive",
        _LEAST_SQUARES,
        n_subsets=None,
    ),
    "broto_sampled": Preset(
        "Broto, Bachoc & Depecker (2020), random permutations",
        "neighbours",
        "permutations",
        "permutations",
    ),
    "williamson": Preset(
        "Williamson & Feng (2020)",
        "retrained",
        "kernel_draws",
        _LEAST_SQUARES,
        departure="K = 500 as in the paper; its authors recommend twice the number of rows.",
    ),
    "covert_lee": Preset("Covert & Lee (2021)", "marginal", "paired_draws", _LEAST_SQUARES),
    "mdi": Preset(
        "Breiman (2003), mean decrease in impurity",
        "mdi",
        "leave_one_out",
        "total_sobol",
        n_subsets=None,
        departure="Measured in sample, its explained variance too; no Shapley effect.",
    ),
    "sobol_mda": Preset(
        "Bénard, Da Veiga & Scornet (2022), Sobol-MDA",
        "projected_forest",
        "leave_one_out",
        "total_sobol",
        n_subsets=None,
        departure="Total Sobol indices, not Shapley effects: they do not sum to what is explained.",
    ),
}
