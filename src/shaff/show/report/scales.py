"""Round numbers for an axis."""

from __future__ import annotations

import math


def nice_ticks(top: float, at_most: int = 6) -> list[float]:
    """Round numbers from 0 to ``top``, evenly spaced.

    Examples
    --------
    >>> from shaff.show.report.scales import nice_ticks
    >>> nice_ticks(0.23)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    rough = top / (at_most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [float(f"{k * step:.12g}") for k in range(int(top / step * 1.000001) + 1)]
