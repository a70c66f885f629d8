"""Step 1: which subsets to price."""
