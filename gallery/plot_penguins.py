"""
Does the island make a penguin heavy?
=====================================

Species, island and sex are labels, not numbers, and on these islands one
label nearly determines another.

Categories need no preparation. What they share with other inputs shows in
the difference between the first-order and the total index.
"""

# %%
# The penguins
# ------------
#
# Body mass of penguins on three islands of the Palmer Archipelago (Horst,
# Hill and Gorman 2020; package palmerpenguins).

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects

folder = Path(find_spec("palmerpenguins").origin).parent / "data"
penguins = pd.read_csv(folder / "penguins.csv")
penguins = penguins.dropna(subset=["body_mass_g"])
print(pd.crosstab(penguins["species"], penguins["island"]))
print("sex not known:", penguins["sex"].isna().sum())

# %%
# Missing labels stay missing: learners have a branch for them.
#
# Three labels
# ------------

labels = penguins[["species", "island", "sex"]]
mass = penguins["body_mass_g"].rename("body mass")
result = ShapleyEffects(random_state=0).fit(labels, mass).result_
print(result.summary())

# %%
result.plot(kind="sobol")

# %%
# The island alone explains much: its first-order index is large. Given the
# species it adds nothing: its total index is next to zero. The Shapley
# effect lies between, because the island does carry the information.
#
# What comes first?
# -----------------
#
# The species of a penguin is there before its island. ``order=`` lets
# inputs enter in layers, and credits the island with what it adds to the
# first:

first = ShapleyEffects(
    order=[["species", "sex"], ["island"]], random_state=0
)
ordered = first.fit(labels, mass).result_
for name, free, layered in zip(
    result.names, result.effects, ordered.effects, strict=True
):
    print(f"{name:8} {free:.3f}   species and sex first: {layered:.3f}")

# %%
# With measurements
# -----------------

columns = penguins.drop(columns=["body_mass_g", "year"])
full = ShapleyEffects(random_state=0).fit(columns, mass).result_
print(full.summary())

# %%
# Caveat
# ------
#
# Two of the three species live on one island only. What an island would do
# to a species that never lives there, no row can show.

# %%
# Decision
# --------
#
# Do not look for the reason on the islands: species and sex leave nothing
# for them to explain. In the field, note these two, and measure the
# flipper to know the mass a little better.
#
# See also :doc:`/guide/orders` and :doc:`/guide/concepts`.
