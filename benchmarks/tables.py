"""Real tables that packages on PyPI ship, read as files: none of the packages is imported.

make tables     # puts the packages in, without what they depend on
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

ISLP, STATSMODELS, LINEARMODELS = "ISLP/data", "statsmodels/datasets", "linearmodels/datasets"
LIFELINES = "lifelines/datasets"


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
# Tables with the outcome that they are analysed for, beside those of `benchmarks.tables`. Columns
# left out are known to be made from the outcome, or number the rows.
MORE = {
    "bikeshare": RealTable(f"{ISLP}/Bikeshare.csv", "bikers", ("casual", "registered")),
    "brain cancer": RealTable(f"{ISLP}/BrainCancer.csv", "time", ("Unnamed: 0",)),
    "caravan": RealTable(f"{ISLP}/Caravan.csv", "Purchase", ("Unnamed: 0",)),
    "default": RealTable(f"{ISLP}/Default.csv", "default"),
    "nyse": RealTable(f"{ISLP}/NYSE.csv", "log_volume", ("date",)),
    "weekly": RealTable(f"{ISLP}/Weekly.csv", "Today", ("Direction",)),
    "actg175": RealTable(f"{LIFELINES}/ACTG175.csv", "cd420"),
    "rossi": RealTable(f"{LIFELINES}/rossi.csv", "week"),
    "senators": RealTable(f"{LIFELINES}/canadian_senators.csv", "observed"),
    "dd": RealTable(f"{LIFELINES}/dd.csv", "duration"),
    "kidney": RealTable(f"{LIFELINES}/kidney_transplant.csv", "time"),
    "larynx": RealTable(f"{LIFELINES}/larynx.csv", "time"),
    "lymphoma": RealTable(f"{LIFELINES}/lymphoma.csv", "Time"),
    "heart transplants": RealTable(f"{LIFELINES}/stanford_heart.csv", "stop"),
    "regression": RealTable(f"{LIFELINES}/regression.csv", "T"),
    "card": RealTable(f"{LINEARMODELS}/card/card.csv.bz2", "wage", ("lwage",)),
    "fringe": RealTable(f"{LINEARMODELS}/fringe/fringe.csv.bz2", "annearn"),
    "job training": RealTable(
        f"{LINEARMODELS}/jobtraining/jobtraining.csv.bz2", "scrap", ("lscrap",)
    ),
    "meps": RealTable(f"{LINEARMODELS}/meps/meps.csv.bz2", "drugexp", ("ldrugexp",)),
    "wage panel": RealTable(f"{LINEARMODELS}/wage_panel/wage_panel.csv.bz2", "lwage"),
    "wages": RealTable(f"{LINEARMODELS}/wage/wage.csv.bz2", "wage", ("lwage",)),
    "anes96": RealTable(f"{STATSMODELS}/anes96/anes96.csv", "'PID'", sep="\t"),
    "ccard": RealTable(f"{STATSMODELS}/ccard/ccard.csv", "AVGEXP"),
    "committee": RealTable(f"{STATSMODELS}/committee/committee.csv", "BILLS104"),
    "copper": RealTable(f"{STATSMODELS}/copper/copper.csv", "WORLDCONSUMPTION"),
    "cpunish": RealTable(f"{STATSMODELS}/cpunish/cpunish.csv", "EXECUTIONS"),
    "heart": RealTable(f"{STATSMODELS}/heart/heart.csv", "survival"),
    "longley": RealTable(f"{STATSMODELS}/longley/longley.csv", "TOTEMP"),
    "randhie": RealTable(f"{STATSMODELS}/randhie/randhie.csv", "mdvis"),
    "scotland": RealTable(f"{STATSMODELS}/scotland/scotvote.csv", "YES"),
    "spector": RealTable(f"{STATSMODELS}/spector/spector.csv", "'GRADE'", sep=" "),
    "stackloss": RealTable(f"{STATSMODELS}/stackloss/stackloss.csv", "STACKLOSS"),
    "state crime": RealTable(f"{STATSMODELS}/statecrime/statecrime.csv", "violent"),
    "strikes": RealTable(f"{STATSMODELS}/strikes/strikes.csv", "duration"),
    "epil": RealTable("statsmodels/genmod/tests/results/epil.csv", "y"),
    "body mass": RealTable("palmerpenguins/data/penguins.csv", "body_mass_g"),
}  # fmt: skip


def read_real(name: str) -> tuple[Any, Any]:
    """Inputs and outcome of a table, without the rows that lack the outcome."""
    return read_table({**TABLES, **MORE}[name])


def read_table(table: RealTable) -> tuple[Any, Any]:
    """The same of a table that is not in the list."""
    package, _, path = table.file.partition("/")
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: run `make tables`.")
    frame = pd.read_csv(Path(spec.submodule_search_locations[0]) / path, sep=table.sep)
    frame = frame.dropna(subset=[table.target])
    return frame.drop(columns=[table.target, *table.drop], errors="ignore"), frame[table.target]
