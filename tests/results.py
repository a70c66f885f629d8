"""Results that are made, not computed, for tests of what people see."""

import numpy as np

from shaff.data.summary import ColumnSummary, DataSummary
from shaff.results.effects import EffectsResult

HOSTILE = (
    "</script><script>document.title='hit'</script>",
    "<img src=x onerror=\"document.title='hit'\">",
    "\" onmouseover=\"document.title='hit'\" x='",
    "\u202eright-to-left שלום",
    "x" * 10_000,
    "=cmd|' /C calc'!A0",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
)
NAMES = ("size", "town", "age", "rooms", "garden")


def summary(names, seed=0):
    columns = tuple(
        ColumnSummary(name, "category" if k == 1 else "number", name, 3 * (k == 2), 9 + k, *(
            (None,) * 3 if k == 1 else (0.0, 1.5, 9.25)
        ))
        for k, name in enumerate(names)
    )  # fmt: skip
    noise = np.random.default_rng(seed).uniform(-1, 1, (len(names), len(names)))
    association = np.round((noise + noise.T) / 2, 2)
    np.fill_diagonal(association, 1.0)
    target = ColumnSummary("price", "number", "price", 0, 90, 1.0, 2.0, 3.0)
    return DataSummary(100, 120, len(names), columns, association, target)


def rich_result(names=NAMES, **changes):
    effects = np.array([0.3, 0.2, 0.06, 0.03, 0.01])
    errors = {"data": effects / 5 + 0.002, "design": effects / 50}
    arguments = {
        "names": names,
        "effects": effects,
        "raw_effects": effects,
        "explained_variance": 0.6,
        "explained_variance_error": 0.04,
        "n_rows": 100,
        "n_subsets": 30,
        "estimator": "stack",
        "design": "gaussian_process",
        "solver": "gaussian_process",
        "first_order": effects * 2,
        "total": effects / 2,
        "errors_by_source": errors,
        "covariance": np.diag(sum(error**2 for error in errors.values())),
        "p_values": [0.0001, 0.0001, 0.01, 0.2, 0.6],
        "random_state": 0,
        "notes": ("More rows would explain more.", "Left out 20 rows."),
        "target": "price",
        "convergence": [[10, 0.02], [20, 0.006], [30, 0.002]],
        "data": summary(names),
        "call": "ShapleyEffects(random_state=0).fit(X, y)",
        "versions": {"numpy": "2.0"},
    }
    return EffectsResult(**{**arguments, **changes})


def many_players(p, n_kept=30):
    """A wide result, most of whose players were screened out."""
    effects = np.zeros(p)
    effects[:n_kept] = 0.5 ** np.arange(1, n_kept + 1) * 0.7
    errors = np.where(effects > 0, effects / 10 + 1e-4, 0.0)
    names = tuple(f"a rather long name of column number {k}" for k in range(p))
    return EffectsResult(
        names=names, effects=effects, raw_effects=effects, explained_variance=effects.sum(),
        explained_variance_error=0.02, n_rows=500, n_subsets=400, estimator="forest",
        design="gaussian_process", solver="gaussian_process", errors_by_source={"data": errors},
        covariance=np.diag(errors**2), p_values=np.where(effects > 0.001, 0.001, 1.0),
        screened=np.where(effects == 0, 0.1, np.nan), target="yield", data=summary(names),
    )  # fmt: skip
