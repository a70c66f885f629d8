"""The other systems of the paper's Table 1."""
