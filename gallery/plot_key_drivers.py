"""
What makes a marriage a happy one?
==================================

A survey has one question about satisfaction and several about the person:
which of them are the key drivers, and how much do they drive?

Market research calls this *key driver analysis*. Its usual number is
*relative importance*, or LMG (Lindeman, Merenda and Gold): the R² of a
linear regression, averaged over all orders in which the drivers can enter.
That is the Shapley effect with a linear learner. This page computes it, and
then allows curves and interactions.
"""

# %%
# The survey
# ----------
#
# In 1974 the magazine Redbook asked its readers, married women, to rate
# their marriage from 1 (very poor) to 5 (very good). The table comes with
# statsmodels. Two preparations:
#
# - The column ``affairs`` stays out. An affair is as much a consequence of
#   an unhappy marriage as its reason.
# - The file lists the women who had an affair first. That is not an
#   order in time, so the rows are shuffled.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd
from sklearn.linear_model import LinearRegression

from shaff import ShapleyEffects, compare

folder = Path(find_spec("statsmodels").origin).parent / "datasets"
survey = pd.read_csv(folder / "fair" / "fair.csv").drop(columns="affairs")
survey = survey.sample(frac=1, random_state=0).rename(
    columns={
        "rate_marriage": "rating",
        "yrs_married": "years married",
        "educ": "years of education",
        "occupation": "her occupation",
        "occupation_husb": "his occupation",
    }
)
print(survey["rating"].value_counts(normalize=True).round(2).to_dict())

# %%
# Relative importance (LMG)
# -------------------------
#
# A linear model, measured on held-out rows:

linear = ShapleyEffects(
    LinearRegression(), explains="outcome", random_state=0
).fit(survey, "rating")
print(linear.result_.summary())

# %%
# With curves and categories
# --------------------------
#
# Occupations are codes from 1 to 6. A linear model takes them for amounts;
# ``categorical`` says that they are labels. The default learner also finds
# curves and interactions.

drivers = ShapleyEffects(
    categorical=["her occupation", "his occupation"], random_state=0
).fit(survey, "rating")
print(drivers.result_.summary())

# %%
# The figure has the effects with 95 % intervals.

drivers.result_.plot()

# %%
# Does it matter which learner is asked? Both results rest on the same rows,
# so their differences are known better than the effects themselves:

found = compare(linear, drivers, labels=("linear", "default"))
print(found.to_frame(units="share").round(4).to_string(index=False))

# %%
# Which driver comes first?
# -------------------------
#
# The three largest bars overlap. Ranks that the data allow for:

result = drivers.result_
best, worst = result.rank_intervals()
for j in result.order[:4]:
    print(f"{result.names[j]}: rank {best[j]} to {worst[j]}")

# %%
# Caveat
# ------
#
# Look at the explained variance before the bars. All drivers together
# explain a few percent of the differences between ratings:

print(f"explained: {100 * result.explained_variance:.1f} %")
print(f"by a linear model: {100 * linear.result_.explained_variance:.1f} %")

# %%
# A chart of shares that add up to 100 % would hide this. Whatever makes
# these marriages happy or unhappy was not asked, or is chance. And an
# effect is not a promise: having fewer children makes nobody's marriage
# happy.

# %%
# Decision
# --------
#
# Do not act on the order of these drivers. If the survey is run again,
# spend its questions on what happens inside the marriage; keep children,
# religion and the years of marriage as controls, and drop the occupations.
# Report the explained variance beside every chart of key drivers.
#
# See also :doc:`/guide/coming_from` for relaimpo and dominance analysis.
