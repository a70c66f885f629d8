"""Categories: the trees' own orders, no leak into unseen rows, known effects."""
