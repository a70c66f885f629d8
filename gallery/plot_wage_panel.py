"""
What pays, if each person is seen eight times?
==============================================

A panel follows the same men for eight years: rows of one man belong
together, and a result that ignores this is too sure of itself.

``row_groups`` keeps rows of one unit on one side of every split, and counts
a unit as one observation in the error bars.
"""

# %%
# The panel
# ---------
#
# The table ``wage_panel`` comes with linearmodels (Vella and Verbeek 1998):
# the logarithm of the hourly wage of young men in the United States.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects

folder = Path(find_spec("linearmodels").origin).parent / "datasets"
panel = pd.read_csv(folder / "wage_panel" / "wage_panel.csv.bz2")
panel["occupation"] = panel["occupation"].astype("category")
men = panel["nr"]
X = panel.drop(columns=["lwage", "expersq", "nr"])
y = panel["lwage"].rename("log wage")
print(f"{len(panel)} rows, {men.nunique()} men")

# %%
# The naive way
# -------------
#
# As if all rows were independent:

naive = ShapleyEffects(random_state=0).fit(X, y).result_
print(f"explained {naive.explained_variance:.3f}")
print(naive.notes[0])

# %%
# The first note says that rows next to each other leave residuals that are
# alike. They are rows of the same man.
#
# Rows of one man together
# ------------------------

result = ShapleyEffects(random_state=0).fit(X, y, row_groups=men).result_
print(result.summary())

# %%
# Side by side: the errors, and the p-values.

table = pd.DataFrame(
    {
        "effect": result.effects,
        "error": result.standard_errors,
        "naive effect": naive.effects,
        "naive error": naive.standard_errors,
        "ratio": result.standard_errors / naive.standard_errors,
        "p": result.p_values,
        "naive p": naive.p_values,
    },
    index=result.names,
)
print(table.round(3).sort_values("effect", ascending=False))

# %%
# The error of education grows most: a man keeps it for life, and eight rows
# of one man say hardly more about it than one. That of the calendar year,
# which changes within a man, stays nearly as it is.

result.plot()

# %%
# Caveat
# ------
#
# New men are predicted here, not later years of men who are known. If you
# want to predict the next wage of a man in the table, his past wages are
# the best input, and the question is another one. Experience grows with
# the calendar year, so that the two share their credit.

# %%
# Decision
# --------
#
# Report the errors of the grouped fit. Education, hours and occupation hold
# under it. The effect of ``black`` was significant in the naive fit and is
# not in the grouped one: these men are too few to measure it, which is no
# proof that it is absent.
#
# See also :doc:`/guide/data`.
