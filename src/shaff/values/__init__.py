"""Step 2: the value of a subset. `shaff.values.making` has the names."""
