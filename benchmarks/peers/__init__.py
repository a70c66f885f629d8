"""shaff and its peers on data whose true Shapley effects are known.

    make peers                                   # the environment, then what is missing
    python -m benchmarks.peers [--quick] [--only shap qshap] [--cases 1a 2] [--rows 1000]

The truth is the exact Shapley effect of every input: its fair share of the variance of y, under
the dependence of the data. Each peer is called as its own documentation does, with its defaults,
in a process of its own that may use two minutes of processor time and six gigabytes. Peers that
explain a model get a LightGBM that stopped early on a quarter of the rows, and explain it on that
quarter. shaff gets the table and no model. Peers answer questions of their own; the table says how
far each answer is from this one.

- *error* is the sum over the inputs of the absolute difference to the true effect, for peers whose
  numbers are shares of the variance of y.
- *wrong credit* is half of that sum after both are scaled to add up to 1, negative numbers being
  taken as 0: the part of the credit that goes to wrong inputs. Every peer has it.
- *rank* is Spearman's correlation with the true effects.
- *time* is processor time, with the fit of the model; imports are not counted.
- *covered* is the part of the true effects inside 90 % intervals, for peers that have intervals.

Runs are kept in one file as they come: what is there is not run again. Nothing of shaff was chosen
by these cases except what `benchmarks.cases` says of its named ones.
"""
