"""Results that are made, not computed, for tests of what people see."""

from pathlib import Path

import numpy as np

from shaff.data.summary import ColumnSummary, DataSummary
from shaff.results.change import Change
from shaff.results.comparison import Comparison
from shaff.results.effects import EffectsResult
from shaff.results.interactions import Interactions
from shaff.results.local import LocalEffects
from shaff.results.many import ManyEffects
from shaff.results.marginal import ProportionalMarginalEffects
from shaff.results.selection import PathStep, Selection

# A file of every format that was ever written: none of them is changed again.
KEPT = sorted((Path(__file__).parent / "formats").glob("result-*.json"))

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
        "data_hash": "0123456789abcdef" * 2,
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


def other_results():
    """One result of every other class, with a name that tables must escape."""
    yield LocalEffects(("a|b", "c"), [[0.5, -0.2]], 1.0, [1.3], [[7.0, 8.0]])
    yield Interactions(("a|b", "c"), [0, 1], [0.1], n_rows=10, n_subsets=4)
    yield Comparison(("a|b",), [[0.1], [0.4]], [[0.3]], [0.1])
    yield Change(("a|b",), [0.2], 0.1, [1.0, 1.3], np.eye(2) / 100, 2, (50, 60))
    yield ManyEffects(("town",), {"N|O": rich_result(("a|b", *NAMES[1:]))}, {"P": "No rows."})
    said = "Kept 1 of 2 inputs."
    yield Selection(("a|b", "c"), [1, 0], [0.3, 0.0], "all_relevant", "Holm, 0.05", said, 0.3)
    yield ProportionalMarginalEffects(("a|b", "c"), [0.3, 0.0], 0.3, n_rows=100, n_subsets=4)


LOCAL = LocalEffects(
    ("a", "b"), [[[0.1, -0.0], [1 / 3, np.nan]]], [0.1, 0.2], [[0.5, np.nan]], [[1.0, np.nan]],
    levels={"b": ("x", "y")}, outputs=("no", "yes"), target="y", rows=[7], notes=("A note.",),
    standard_errors=np.full((1, 2, 2), 1 / 7), library="polars",
)  # fmt: skip
FOUND = Interactions(
    ("a", "b", "c"), [0, 2], [1 / 3], {"data": [0.1], "design": [np.inf]}, [0.2], 9, 3, "y", ("N.",)
)
# One of every class that is saved.
RESULTS = [
    rich_result(interactions=FOUND),
    LOCAL,
    LOCAL.of("no"),
    FOUND,
    Comparison(("a",), [[0.1], [1 / 3]], [[0.3], [0.2]], [np.nan], ("then", "now"), ("N.",)),
    ManyEffects(
        ("segment",), {"Rome": rich_result(), "Oslo": rich_result(target="t")}, {"x": "no"}
    ),
    ManyEffects(("target", "model"), {("y", "one"): rich_result()}, {("y", "two"): "Too few."}),
    ManyEffects(("segment",), {}, {"x": "no"}),
    Change(("a", "b"), [0.5, 1 / 3], 0.1, [1.0, 1.9], np.diag([0.01, 0.02, 0.01]), 6, (90, 80)),
    ProportionalMarginalEffects(("a", "b"), [1 / 3, 0.0], 1 / 3, [0.1, 0.2], n_rows=442),
    Selection(
        ("a", "b"),
        [1, 0],
        [0.3, 1 / 7],
        "minimal_set",
        "1se",
        "1 of 2 inputs is enough.",
        0.4,
        path=(PathStep(1, ("a",), 0.3, 0.1), PathStep(2, ("a", "b"), 0.4, 0.0, 0.41, 0.02)),
        stand_ins={"a": ("b",)},
        target="y",
        notes=("N.",),
    ),
]
SAVED = [result.to_json() for result in RESULTS] + [path.read_text("utf-8") for path in KEPT]
