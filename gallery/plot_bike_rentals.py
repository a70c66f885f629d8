"""
What drives bike rentals, hour by hour?
=======================================

Rentals depend on the clock, the calendar and the weather, and each hour
resembles the hour before: ``time=`` accounts for that.
"""

# %%
# The year
# --------
#
# The table ``Bikeshare`` (package ISLP) has every hour of 2011 in
# Washington, D.C. Clock, calendar and weather are groups of columns.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects

folder = Path(find_spec("ISLP").origin).parent / "data"
bikes = pd.read_csv(folder / "Bikeshare.csv")
hours = 24 * bikes["day"] + bikes["hr"]
groups = {
    "clock": ["hr", "weekday", "workingday", "holiday"],
    "season": ["season", "mnth"],
    "weather": ["weathersit", "temp", "atemp", "hum", "windspeed"],
}
X = bikes[[name for names in groups.values() for name in names]]
y = bikes["bikers"]
print(f"{len(bikes)} hours, {y.mean():.0f} bikers in the mean")

# %%
# Folds at random
# ---------------
#
# Without ``time=``, held-out hours stand between hours that the learner has
# seen. The weather then identifies the day.

shuffled = ShapleyEffects(groups=groups, random_state=0).fit(X, y).result_
print(f"explained {shuffled.explained_variance:.3f}")
print(shuffled.notes[0])

# %%
# Stretches of time
# -----------------

est = ShapleyEffects(groups=groups, random_state=0).fit(X, y, time=hours)
result = est.result_
print(result.summary())

# %%
table = pd.DataFrame(
    {
        "random folds": shuffled.effects,
        "error": shuffled.standard_errors,
        "stretches of time": result.effects,
        "error ": result.standard_errors,
    },
    index=result.names,
)
print(table.round(3))

# %%
# The clock keeps its effect. The season loses nearly half of its own: with
# random folds a learner has seen other hours of the same days. Errors are
# several times as large, since blocks of time count, not hours.

result.plot()

# %%
# Caveat
# ------
#
# One year has each season once. Whether June is strong because it is June,
# because it is warm, or because the system was growing, no method can tell
# from it.

# %%
# Decision
# --------
#
# Plan the vans by hour and kind of day: that is where the variance is. Use
# the weather forecast for the rest. Wait for a second year before you pay
# for a seasonal plan.
#
# See also :doc:`/guide/time` and :doc:`/guide/hierarchies`.
