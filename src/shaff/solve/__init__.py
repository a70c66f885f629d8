"""Step 3: from values to effects."""
