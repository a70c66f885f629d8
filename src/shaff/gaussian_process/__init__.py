"""A Gaussian process over the subset cube: what the active design and its solver share."""
