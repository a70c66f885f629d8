"""Step 2: what a subset explains."""
