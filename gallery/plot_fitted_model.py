"""
Does our model look at the right things?
========================================

An insurer has a model of drug expenses in use: is what drives its
predictions also what drives the expenses?

``explain_model`` divides the variance of the predictions,
``ShapleyEffects.from_fitted`` that of the outcome, through the same model.
"""

# %%
# A model that exists
# -------------------
#
# The table ``meps`` (package linearmodels): expenses on prescription drugs
# of people over 65, on a logarithmic scale. Boosted trees were fitted to
# most of the rows. The rest is held out.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from shaff import ShapleyEffects, explain_model

folder = Path(find_spec("linearmodels").origin).parent / "datasets"
people = pd.read_csv(folder / "meps" / "meps.csv.bz2")
# Health as people rate it themselves: 0 is excellent, 4 is poor.
people["bad health"] = people[["vegood", "good", "fair", "poor"]] @ [
    1,
    2,
    3,
    4,
]
X = people[
    ["totchr", "bad health", "age", "female", "educyr", "income", "private"]
].rename(
    columns={
        "totchr": "chronic conditions",
        "educyr": "education",
        "private": "private insurance",
    }
)
y = people["ldrugexp"].rename("log expense")
X_old, X_new, y_old, y_new = train_test_split(
    X, y, test_size=3000, random_state=0
)
model = HistGradientBoostingRegressor(max_features=1 / 3, random_state=0)
model.fit(X_old, y_old)
print(f"R² on the rows of training: {model.score(X_old, y_old):.2f}")
print(f"R² on held-out rows: {model.score(X_new, y_new):.2f}")

# %%
# What drives the predictions?
# ----------------------------

said = explain_model(model, X_new, y_new, random_state=0).result_
print(said.summary())

# %%
# What drives the outcome?
# ------------------------
#
# The trees are projected: the model is evaluated on every subset of the
# inputs without being fitted again, and measured against the expenses.

true = ShapleyEffects.from_fitted(model, X_new, y_new, random_state=0)
print(true.result_.summary())

# %%
true.result_.plot()

# %%
# Side by side, as shares of 100 %:

table = pd.DataFrame(
    {
        "of the predictions": 100 * said.shares,
        "of the outcome": 100 * true.result_.shares,
    },
    index=said.names,
)
table["difference"] = table.iloc[:, 0] - table.iloc[:, 1]
print(table.round(1).sort_values("of the outcome", ascending=False))

# %%
# Caveat
# ------
#
# The two columns are shares of different things: the variance of what the
# model says, and the smaller part of the variance of the outcome that it
# gets right. Effects of predictions say nothing about how good the model
# is. Noise that it has learnt counts there, too.

# %%
# Decision
# --------
#
# The model may stay: chronic conditions, health and age come first in both
# columns. But part of its predictions depends on income and education,
# which carry no information on the expenses of held-out rows. That, and the
# gap between the two R² at the top, are signs of a fit that is too close.
# Leave these columns out when the model is fitted again.
#
# See also :doc:`/guide/models`.
