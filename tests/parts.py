"""Random games whose players come in parts: layers of an order, or groups."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def games_in_parts(draw):
    """Values of all subsets of up to six players, and the number of each player's part."""
    p = draw(st.integers(2, 6))
    v = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).standard_normal(2**p)
    codes = draw(st.lists(st.integers(0, 3), min_size=p, max_size=p))
    return v, np.unique(codes, return_inverse=True)[1]


def as_lists(parts):
    """The players of each part."""
    return [np.flatnonzero(parts == k).tolist() for k in range(parts.max() + 1)]
