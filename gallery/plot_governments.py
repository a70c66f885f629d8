"""
How long do governments last?
=============================

Some governments were still in office when the data ended, and governments
of one country are much alike: both must be dealt with before any effect can
be trusted.

``survival_outcome`` turns censored times into an outcome, and
``row_groups`` keeps the governments of a country together.
"""

# %%
# Two hundred countries since 1946
# --------------------------------
#
# The table ``dd`` (democracy and dictatorship, Cheibub, Gandhi and Vreeland
# 2010) comes with lifelines. A row is a leader in office: years until the
# end, and whether the end was observed.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects, survival_outcome

folder = Path(find_spec("lifelines").origin).parent / "datasets"
table = pd.read_csv(folder / "dd.csv").rename(
    columns={
        "ctryname": "country",
        "un_continent_name": "continent",
        "un_region_name": "region",
        "start_year": "start",
    }
)
print(f"{len(table)} governments of {table['country'].nunique()} countries")
print(f"end observed: {100 * table['observed'].mean():.0f} %")
print(table.groupby("regime")["duration"].agg(["size", "median"]))

# %%
# Years in office, out of the first ten
# -------------------------------------
#
# Nothing is known about times that nobody was observed for, so a horizon is
# needed: years in office up to ten.

years = survival_outcome(
    table["duration"], table["observed"], horizon=10, time_unit="years"
)
X = table[["democracy", "regime", "continent", "region", "start"]]
apart = ShapleyEffects(random_state=0).fit(X, years).result_
together = ShapleyEffects(random_state=0).fit(
    X, years, row_groups=table["country"]
)
result = together.result_
print(result.summary())

# %%
result.plot()

# %%
# What the countries do
# ---------------------
#
# The same without ``row_groups``: a region then stands for its countries,
# some of whose governments the learner has seen.

print(
    pd.DataFrame(
        {
            "rows apart": apart.effects,
            "countries together": result.effects,
            "error": result.standard_errors,
        },
        index=result.names,
    ).round(3)
)
print(
    f"explained: {apart.explained_variance:.2f} with rows apart,", end=" "
)
print(f"{result.explained_variance:.2f} with countries together")

# %%
# Caveat
# ------
#
# The outcome is right if censoring does not depend on the inputs. A row is
# censored if the leader was in office when the data ended, or died in
# office, and the latter may depend on the inputs. ``democracy`` is a
# summary of ``regime``, so the two share their credit.

# %%
# Decision
# --------
#
# To forecast how long a new government lasts, look at the kind of regime
# and at the continent. Leave the region out: once whole countries are held
# out, its effect cannot be told from zero. And promise little: most of the
# variance remains.
#
# See also :doc:`/guide/survival`.
