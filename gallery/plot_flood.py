"""
Which uncertainty decides how safe a dyke is?
=============================================

A formula predicts the water level behind a dyke from eight uncertain
inputs, some of them dependent: which of them deserves a better measurement?

``explain_simulator`` draws points from the inputs, runs the function, and
divides the variance of its output.
"""

# %%
# The model
# ---------
#
# A river, after Iooss and Lemaître (2015), with a lower bank. The output is
# how far the water stands above the crest of the dyke, in metres; below the
# crest it is negative.

import numpy as np
from scipy import stats

from shaff import explain_simulator


def overflow(flow, roughness, down, up, dyke, bank, length, width):
    slope = (up - down) / length
    depth = (flow / (width * roughness * np.sqrt(slope))) ** 0.6
    return down + depth - dyke - bank


def triangular(middle, spread):
    return stats.triang(0.5, middle - spread, 2 * spread)


inputs = {
    "flow": stats.lognorm(0.45, scale=1200),  # m³/s
    "roughness": stats.truncnorm(-1.875, 4, 30, 8),  # Strickler's
    "down": triangular(50, 1),  # river bed downstream, m
    "up": triangular(55, 1),  # river bed upstream, m
    "dyke": stats.uniform(2, 2),  # height, m
    "bank": triangular(51, 0.5),  # on which the dyke stands, m
    "length": triangular(5000, 10),  # of the reach, m
    "width": triangular(300, 5),  # m
}
# Rank correlations: a strong flow smooths its bed, and the two levels of
# the bed are silted together.
correlation = {
    ("flow", "roughness"): 0.5,
    ("down", "up"): 0.3,
    ("length", "width"): 0.3,
}

# %%
# 500 runs
# --------

runs = explain_simulator(
    overflow,
    inputs,
    correlation=correlation,
    n=500,
    vectorised=True,
    random_state=0,
)
result = runs.result
print(runs.summary())

# %%
result.plot(kind="sobol")

# %%
# First-order and total indices disagree where inputs depend on each other.
# The roughness acts with the flow and against it: a river that carries more
# water is also smoother here, and drains faster. The Shapley effect lies
# between the two indices, and the effects add up to 1.
#
# Are 500 runs enough?
# --------------------

for precision in (0.05, 0.02, 0.01):
    more = runs.more_runs(precision)
    print(f"95 % intervals of ± {precision}: {more} more runs")

# %%
# How near does the water come?
# -----------------------------

print(f"in the mean {-runs.y.mean():.1f} m below the crest")
print(f"standard deviation {runs.y.std():.1f} m")
print(f"above the crest in {100 * (runs.y > 0).mean():.1f} % of the runs")

# %%
# Caveat
# ------
#
# The effects are those of the *variance*, under the distributions that
# were written down above. Floods are a matter of the tail: see
# :doc:`/guide/exceedance` for effects on the event itself. And the height
# of the dyke is not uncertain in the sense of the others: it can be
# chosen.

# %%
# Decision
# --------
#
# Fix the height of the dyke first: it has the largest effect, and it is in
# our hands. Spend the money for measurements on the flow and on the river
# bed downstream. No more surveys of length and width: their effects are
# next to nothing.
#
# See also :doc:`/guide/simulators`.
