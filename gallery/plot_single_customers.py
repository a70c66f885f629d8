"""
Why would this customer switch brands?
======================================

Two customers are about to buy the same brand of orange juice for different
reasons, and only one of them can be won by a discount.

Effects say what matters over all rows. ``explain`` says what matters in
one.
"""

# %%
# The purchases
# -------------
#
# The table ``OJ`` (package ISLP): at each purchase a customer chose Citrus
# Hill (CH) or Minute Maid (MM). Many columns are sums and differences of
# others, so columns that belong together form groups.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects

folder = Path(find_spec("ISLP").origin).parent / "data"
juice = pd.read_csv(folder / "OJ.csv")
groups = {
    "loyalty": ["LoyalCH"],
    "prices": ["SalePriceCH", "SalePriceMM", "PriceDiff"],
    "discounts": ["DiscCH", "DiscMM", "SpecialCH", "SpecialMM"],
    "store": ["StoreID"],
    "week": ["WeekofPurchase"],
}
X = juice[[name for names in groups.values() for name in names]]
est = ShapleyEffects(
    groups=groups, categorical=["StoreID"], random_state=0
).fit(X, juice["Purchase"])
print(est.result_.summary())

# %%
# Over all purchases, loyalty has the largest effect by far. It is a running
# mean of what the customer bought before.
#
# One row at a time
# -----------------
#
# ``explain()`` explains the rows of the fit, each by learners that have not
# seen it. With two classes, it is the probability of the second:

local = est.explain()
print("probability of", local.output)
frame = local.to_frame("pandas")
print(frame.head(3).round(2).to_string(index=False))

# %%
local.plot(kind="beeswarm")

# %%
# Two customers
# -------------
#
# Both are likely to take Minute Maid. For the first it is mostly a matter
# of loyalty, for the second one of prices and discounts:

likely = frame[frame["prediction"].between(0.6, 0.8)]
offer = likely["prices"] + likely["discounts"]
loyal, tempted = (likely["loyalty"] - offer).idxmax(), offer.idxmax()
for name, row in {"loyal": loyal, "tempted": tempted}.items():
    told = frame.loc[row, ["prediction", *groups]].round(2).to_dict()
    print(f"{name} (row {row}):", told)

# %%
local.plot(kind="waterfall", row=int(loyal))

# %%
local.plot(kind="waterfall", row=int(tempted))

# %%
# Who can be won?
# ---------------
#
# The same comparison for everybody who leans towards Minute Maid:

leaning = frame[frame["prediction"] > 0.5]
by_offer = (leaning["prices"] + leaning["discounts"]) > leaning["loyalty"]
print(f"{len(leaning)} purchases lean towards MM,", end=" ")
print(f"{100 * by_offer.mean():.0f} % of them rather by offers than habit")

# %%
# Caveat
# ------
#
# A contribution is a part of a *prediction*, not an answer to "what if".
# Loyalty itself is made of earlier choices, some of which were bought by
# discounts. Whether an offer wins a customer is settled by an experiment.

# %%
# Decision
# --------
#
# Citrus Hill sends its coupon to the second kind of customer, and tests it
# on a random half of them. The first kind is left alone: most of those who
# lean towards Minute Maid do so by habit.
#
# See also :doc:`/guide/local`.
