"""
Did something else pay a few years later?
=========================================

Wages of two periods, explained by the same columns: which differences
between the two results are real?

``compare`` tests the differences of effects. ``explain_change`` asks
another question of the same rows: what moved the mean?
"""

# %%
# Two periods
# -----------
#
# The table ``Wage`` (package ISLP): male workers of the Mid-Atlantic
# states, another sample each year.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects, compare, explain_change

folder = Path(find_spec("ISLP").origin).parent / "data"
workers = pd.read_csv(folder / "Wage.csv")
columns = [
    "age",
    "education",
    "maritl",
    "race",
    "jobclass",
    "health",
    "health_ins",
]
early = workers[workers["year"] <= 2005]
late = workers[workers["year"] >= 2007]
labels = ("2003-05", "2007-09")
for label, some in zip(labels, (early, late), strict=True):
    wage = some["wage"]
    print(f"{label}: {len(some)} workers, mean {wage.mean():.0f},", end=" ")
    print(f"standard deviation {wage.std():.0f}")

# %%
# A result for each
# -----------------

first, second = (
    ShapleyEffects(random_state=0).fit(some[columns], some["wage"])
    for some in (early, late)
)
for label, est in zip(labels, (first, second), strict=True):
    result = est.result_
    top = [result.names[j] for j in result.order[:3]]
    print(f"{label}: explained {result.explained_variance:.2f};", end=" ")
    print("largest effects:", ", ".join(top))

# %%
# The difference
# --------------

found = compare(first, second, labels=labels)
print(found.summary(units="share"))

# %%
found.plot()

# %%
# The largest difference is that of education, and its interval contains
# zero. That of race excludes it by a hair, one of seven. Adjusted for
# seven tests (Holm), no difference remains, and the test of all inputs at
# once agrees:

print(f"no effect differs: p = {found.joint_p_value:.2f}")

# %%
# What moved the mean?
# --------------------
#
# The mean wage did rise. Are workers better educated, older, healthier, or
# do the same workers earn more?

change = explain_change(
    early[[*columns, "wage"]],
    late[[*columns, "wage"]],
    "wage",
    estimator="smooth",
    n_splits=4,
    random_state=0,
    labels=labels,
)
print(change.summary())

# %%
# Nearly all of the rise is "how the inputs act": the same workers are paid
# more. Wages are in dollars of their year, so that inflation is part of it.

# %%
# Caveat
# ------
#
# No significant difference is not the same as no difference. The intervals
# say what these rows cannot exclude:

low, high = found.confidence_interval()
j = found.names.index("education")
print(f"education: a change between {low[j]:.2f} and {high[j]:.2f}")

# %%
# Decision
# --------
#
# Keep one model of wages for both periods, with a term for the year. There
# is no reason to tell a story about education: its bar is longer in the
# second period, which chance alone can explain.
#
# See also :doc:`/guide/comparison` and :doc:`/guide/change`.
