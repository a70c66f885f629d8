"""
Are students a credit risk?
===========================

Students default more often than others. Is being a student a reason to
refuse a credit card, or does the balance already say everything?

The outcome is a class (default: yes or no), and one of the inputs works
only through another.
"""

# %%
# The customers
# -------------
#
# The table ``Default`` of the book *An Introduction to Statistical
# Learning* comes with the package ISLP.

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from shaff import ShapleyEffects

folder = Path(find_spec("ISLP").origin).parent / "data"
customers = pd.read_csv(folder / "Default.csv")
customers["defaulted"] = customers["default"] == "Yes"
print(
    customers.groupby("student")
    .agg(
        customers=("balance", "size"),
        defaulted=("defaulted", "mean"),
        balance=("balance", "mean"),
        income=("income", "mean"),
    )
    .round(3)
)

# %%
# Students default more often. They also owe more and earn less.
#
# Effects on a class
# ------------------
#
# An outcome of labels is a classification. Effects are shares of the
# variance of the class, that is, of the Brier score.

X = customers[["student", "balance", "income"]]
est = ShapleyEffects(random_state=0).fit(X, customers["default"])
result = est.result_
print(result.summary())

# %%
# The balance has nearly all of the effect.

result.plot()

# %%
# Defaults are rare. For rare classes many prefer the log-loss, which
# punishes a confident error more. It is one argument away:

log_loss = ShapleyEffects(loss="log_loss", random_state=0).fit(
    X, customers["default"]
)
for name, shares in {
    "Brier score": result.shares,
    "log-loss": log_loss.result_.shares,
}.items():
    named = zip(result.names, shares, strict=True)
    print(f"{name}:", ", ".join(f"{n} {100 * s:.0f} %" for n, s in named))

# %%
# Two things that cancel
# ----------------------
#
# What does being a student say about a customer whose balance is not known,
# and what if it is? Among customers with a balance between 1500 and 2000:

owing = customers[customers["balance"].between(1500, 2000)]
for name, some in {"all": customers, "owing much": owing}.items():
    rates = 100 * some.groupby("student")["defaulted"].mean()
    print(f"{name}: students {rates['Yes']:.1f} % default,", end=" ")
    print(f"others {rates['No']:.1f} %")

# %%
# Students owe more, which raises their risk. At the same balance they
# default *less* often, which lowers it. A Shapley value is the mean over
# both questions, and in the predictions of single customers the two nearly
# cancel:

local = est.explain().to_frame()
student = (customers["student"] == "Yes").to_numpy()
for name in ("student", "balance"):
    gap = local[name][student].mean() - local[name][~student].mean()
    print(f"{name}: students {100 * gap:+.2f} points of probability")

# %%
# Caveat
# ------
#
# The authors of the book simulated this table. It shows how such numbers
# are read, and says nothing about students. In real data the balance is
# itself chosen by the bank: it depends on the limit that a customer was
# given.

# %%
# Decision
# --------
#
# Score by balance, and do not refuse students: they default more often
# because they owe more, and the balance says so already. Leave income out
# of the score; these rows do not show that it helps.
#
# See also :doc:`/guide/losses` and :doc:`/guide/local`.
