"""Step 2: the value of a subset. `shaff.values.registry` has the names."""
