"""Two correlated inputs and a copy: the credit that each measure gives, beside the truth.

    python -m benchmarks.front [--rows 1000] [--seed 0] [--into docs/images/front.png]

The outcome is income + education + age + noise, all standard normal; income and education have a
correlation of 0.8. The table also holds income in another currency, which is the same column
again, and a column of noise. The truth is exact: the inputs are normal and the outcome is linear.
SHAP, permutation importance and SAGE are called as in `benchmarks.peers`, on a LightGBM that
stopped early; shaff gets the table. Importances are scaled to add up to 1, because two of the four
have no unit in common with the truth.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers.data import Data
from benchmarks.peers.runs import wrong_credit
from benchmarks.peers.systems import Found, permutation, sage, shaff, shap_paths
from shaff._util.typing import BoolArray, FloatArray
from shaff.datasets import shapley_values
from shaff.show.plots.display import (
    BLUE,
    INK,
    PALE,
    RED,
    dress_rows,
    matplotlib_module,
    set_title,
)

NAMES = ("income", "income in €", "education", "age", "noise")
CORRELATION = 0.8
# What each measure asks, as the picture says it.
QUESTIONS = {
    "Shapley effects (shaff)": "what does the input tell\nabout the outcome?",
    "SHAP, mean |value|": "what has this model\nadded to predictions?",
    "permutation importance": "what does this model lose\nif it is shuffled?",
    "SAGE, marginal": "what does this model lose\nif it is drawn anew?",
}


def table(n_rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Draw the inputs and the outcome."""
    income, own, age, noise, error = np.random.default_rng(seed).standard_normal((5, n_rows))
    education = CORRELATION * income + np.sqrt(1 - CORRELATION**2) * own
    columns = (income, income.copy(), education, age, noise)
    X = pd.DataFrame(dict(zip(NAMES, columns, strict=True)))
    return X, pd.Series(income + education + age + error, name="outcome")


def truth() -> FloatArray:
    """Return the exact effects: v(U) is what a linear regression on U explains."""
    covariance = np.eye(5)
    covariance[:3, :3] = CORRELATION
    covariance[:2, :2] = covariance[2, 2] = 1.0
    slopes = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    with_outcome = covariance @ slopes
    variance = slopes @ with_outcome + 1.0

    def value(mask: BoolArray) -> float:
        inverse = np.linalg.pinv(covariance[np.ix_(mask, mask)])
        return float(with_outcome[mask] @ inverse @ with_outcome[mask] / variance)

    return shapley_values(lambda masks: np.array([value(mask) for mask in masks]), 5)


def measured(n_rows: int, seed: int) -> dict[str, Found]:
    """Ask each measure."""
    X, y = table(n_rows, seed)
    data = Data(X.to_numpy(), y.to_numpy(), truth())
    calls = (shaff, shap_paths, permutation, sage)
    return {name: call(data, seed) for name, call in zip(QUESTIONS, calls, strict=True)}


def credit(values: FloatArray) -> FloatArray:
    """Return importances that add up to 1; below 0 there is none."""
    kept = np.maximum(values, 0.0)
    return kept / kept.sum()


def credits(found: dict[str, Found]) -> pd.DataFrame:
    """Return one line per input, and the credit to wrong inputs last."""
    shown = {"truth": truth(), **{name: one.values for name, one in found.items()}}
    frame = pd.DataFrame({name: credit(values) for name, values in shown.items()}, index=NAMES)
    frame.loc["wrong credit"] = [wrong_credit(values, truth()) for values in shown.values()]
    return frame


def draw(found: dict[str, Found], path: Path) -> None:
    """Draw a panel per measure, with the truth as marks in each."""
    pyplot = matplotlib_module("pyplot")
    figure, panels = pyplot.subplots(1, 4, figsize=(9.5, 2.7), layout="constrained", sharex=True)
    for panel, (name, one) in zip(panels, found.items(), strict=True):
        shares, places = credit(one.values), np.arange(len(NAMES))
        panel.barh(places, shares, height=0.66, color=BLUE if panel is panels[0] else PALE)
        marks = panel.vlines(credit(truth()), places - 0.42, places + 0.42, RED, lw=2.2, zorder=3)
        dress_rows(panel, list(NAMES) if panel is panels[0] else [""] * len(NAMES))
        set_title(panel, name)
        panel.title.set_fontsize(9.5)
        panel.set_xlabel(QUESTIONS[name], fontsize=8.5, color=INK)
        panel.set_xticks([0, 0.2, 0.4], ["0", "20 %", "40 %"])
    panels[-1].legend([marks], ["true effect"], frameon=False, fontsize=8.5, loc="lower right")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--into", type=Path, help="also draw the picture here")
    given = parser.parse_args()
    found = measured(given.rows, given.seed)
    print((100 * credits(found)).round(1).to_string())
    if given.into is not None:
        draw(found, given.into)


if __name__ == "__main__":
    main()
