"""Tree ensembles as plain arrays."""
