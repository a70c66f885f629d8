"""Real tables that packages on PyPI ship, read as files: none of the packages is imported.

make tables     # puts the packages in, without what they depend on
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

ISLP, STATSMODELS, LINEARMODELS = "ISLP/data", "statsmodels/datasets", "linearmodels/datasets"


class RealTable(NamedTuple):
    """Where a table is, its outcome, columns to leave out, and how its file is written."""

    file: str
    target: str
    drop: tuple[str, ...] = ()
    sep: str = ","


TABLES = {
    "auto": RealTable(f"{ISLP}/Auto.csv", "mpg", ("name",)),
    "boston": RealTable(f"{ISLP}/Boston.csv", "medv"),
    "carseats": RealTable(f"{ISLP}/Carseats.csv", "Sales"),
    "college": RealTable(f"{ISLP}/College.csv", "Apps", ("Unnamed: 0",)),
    "credit": RealTable(f"{ISLP}/Credit.csv", "Balance"),
    "hitters": RealTable(f"{ISLP}/Hitters.csv", "Salary"),
    "oj": RealTable(f"{ISLP}/OJ.csv", "Purchase"),
    "publication": RealTable(f"{ISLP}/Publication.csv", "time"),
    "smarket": RealTable(f"{ISLP}/Smarket.csv", "Direction", ("Today",)),
    "wage": RealTable(f"{ISLP}/Wage.csv", "wage"),
    "engel": RealTable(f"{STATSMODELS}/engel/engel.csv", "foodexp"),
    "fair": RealTable(f"{STATSMODELS}/fair/fair.csv", "affairs"),
    "grunfeld": RealTable(f"{STATSMODELS}/grunfeld/grunfeld.csv", "invest"),
    "macrodata": RealTable(f"{STATSMODELS}/macrodata/macrodata.csv", "unemp"),
    "modechoice": RealTable(f"{STATSMODELS}/modechoice/modechoice.csv", "choice", sep=";"),
    "star98": RealTable(f"{STATSMODELS}/star98/star98.csv", "PR50M"),
    "birthweight": RealTable(
        f"{LINEARMODELS}/birthweight/birthweight.csv.bz2", "bwght", ("lbwght",)
    ),
    "mroz": RealTable(f"{LINEARMODELS}/mroz/mroz.csv.bz2", "hours"),
    "munnell": RealTable(f"{LINEARMODELS}/munnell/munnell.csv.bz2", "GSP"),
    "gbsg2": RealTable("lifelines/datasets/gbsg2.csv", "time"),
    "lung": RealTable("lifelines/datasets/lung.csv", "time"),
    "penguins": RealTable("palmerpenguins/data/penguins.csv", "species"),
}  # fmt: skip


def read_real(name: str) -> tuple[Any, Any]:
    """Inputs and outcome of a table, without the rows that lack the outcome."""
    return read_table(TABLES[name])


def read_table(table: RealTable) -> tuple[Any, Any]:
    """The same of a table that is not in the list."""
    package, _, path = table.file.partition("/")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: run `make tables`.")
    frame = pd.read_csv(Path(spec.submodule_search_locations[0]) / path, sep=table.sep)
    frame = frame.dropna(subset=[table.target])
    return frame.drop(columns=[table.target, *table.drop], errors="ignore"), frame[table.target]
