"""
Which of 85 columns find a buyer?
=================================

An insurer has 85 columns about its customers and wants to know which of
them predict who buys a caravan policy.

With many columns a screen decides, inside each fold, which inputs are
evaluated by name. The rest count as one.
"""

# %%
# The customers
# -------------
#
# The table ``Caravan`` (package ISLP) was the task of the CoIL challenge
# 2000. Columns that begin with M describe the neighbourhood, those with P
# and A the policies of the customer: premiums and their numbers.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects

folder = Path(find_spec("ISLP").origin).parent / "data"
customers = pd.read_csv(folder / "Caravan.csv")
customers = customers.drop(columns="Unnamed: 0", errors="ignore")
bought = customers.pop("Purchase")
print(f"{customers.shape[0]} customers, {customers.shape[1]} columns")
print(f"{100 * (bought == 'Yes').mean():.1f} % have bought")

# %%
# All columns at once
# -------------------

est = ShapleyEffects(random_state=0).fit(customers, bought)
result = est.result_
print(result.summary(10))

# %%
result.plot(max_inputs=12)

# %%
# Which of them are real?
# -----------------------
#
# P-values are adjusted for all 85 inputs, those that were screened
# included:

table = result.to_frame("pandas")
names = table["input"][table["p_adjusted"] < 0.05]
print("significant after Holm's adjustment:", ", ".join(names))
print(f"all screened inputs together: {result.others['effect']:.4f}")

# %%
# Neighbourhood or policies?
# --------------------------
#
# Groups turn 85 small effects into two:

groups = {
    "neighbourhood": [c for c in customers if c.startswith("M")],
    "own policies": [c for c in customers if not c.startswith("M")],
}
grouped = ShapleyEffects(groups=groups, random_state=0)
blocks = grouped.fit(customers, bought).result_
for name, effect, error in zip(
    blocks.names, blocks.effects, blocks.standard_errors, strict=True
):
    print(f"{name}: {effect:.3f} (standard error {error:.3f})")

# %%
# Caveat
# ------
#
# Little of the variance is explained:

print(f"explained: {100 * result.explained_variance:.1f} %")
print(f"AUC on held-out rows: {result.held_out['auc']:.2f}")

# %%
# This is usual for rare purchases. A list of customers sorted by such a
# score still holds more buyers at its top. But whoever owns a car
# insurance here is a buyer of policies anyway: the effect does not say
# that selling the one sells the other.

# %%
# Decision
# --------
#
# Write to customers by their car policies and their fire policies
# (PPERSAUT, APERSAUT, PBRAND). The columns of the neighbourhood tell far
# less together: use them while they are there, and do not pay for them
# again. Do not read an order into the long tail of small bars.
#
# See also :doc:`/guide/data` and :doc:`/guide/scale`.
