"""
Which laboratory tests can we stop paying for?
==============================================

Thirteen chemical tests tell three cultivars of wine apart: all of them
carry information, and a few of them are enough.

These are two different questions, and shaff has a selector for each.
"""

# %%
# The wines
# ---------
#
# Wines of one region in Italy, from scikit-learn.

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from shaff import AllRelevantSelector, MinimalSetSelector

wines = load_wine(as_frame=True)
tests = wines.data.rename(columns=lambda name: name.replace("_", " "))
tests = tests.rename(
    columns={"od280/od315 of diluted wines": "od280/od315"}
)
cultivar = pd.Series(wines.target_names[wines.target], name="cultivar")
print(cultivar.value_counts().to_dict())

# %%
# Everything that matters
# -----------------------
#
# ``AllRelevantSelector`` keeps each input whose effect is significantly
# above zero:

relevant = AllRelevantSelector(random_state=0).fit(tests, cultivar)
print(relevant.selection_.summary())

# %%
# No test is useless. That is the answer for somebody who wants to
# understand the wines.
#
# The fewest that are enough
# --------------------------
#
# ``MinimalSetSelector`` keeps the smallest set that predicts held-out rows
# as well as all inputs, within one standard error of the difference:

minimal = MinimalSetSelector(random_state=0).fit(tests, cultivar)
print(minimal.selection_.summary())

# %%
minimal.plot()

# %%
for step in minimal.path_[1:7]:
    print(f"{step.size}: {step.explained_variance:.3f}", end="  ")
    print(", ".join(step.inputs))

# %%
# Caveat
# ------
#
# There are few rows, and many sets of tests are nearly as good: another
# sample would choose another of them. So the honest check selects on one
# half of the wines and predicts the other half, with a model of its own:

half, rest = slice(0, None, 2), slice(1, None, 2)
again = MinimalSetSelector(random_state=0).fit(tests[half], cultivar[half])
short = list(again.get_feature_names_out())
print("chosen by one half:", ", ".join(short))
for name, chosen in {"all": list(tests), "chosen": short}.items():
    model = make_pipeline(StandardScaler(), SVC())
    model.fit(tests[half][chosen], cultivar[half])
    score = model.score(tests[rest][chosen], cultivar[rest])
    print(f"{name} tests: {100 * score:.0f} % of the other half are right")

# %%
# Decision
# --------
#
# Keep the tests of the minimal set for routine checks, and run all
# thirteen on wines that the short list cannot place. Flavanoids, colour
# and proline stay in any case: they have the largest effects.
#
# See also :doc:`/guide/selection`.
