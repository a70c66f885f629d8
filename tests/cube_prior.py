"""The cube of all subsets, and the prior of the Gaussian process on it by its definition."""

import numpy as np

from shaff.gaussian_process.kernel import OddKernel


def cube(p):
    return (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)


def signs_of(masks):
    return np.where(masks, 1.0, -1.0)


def some_kernel(p, rng, proxy=None):
    effects = np.zeros(p) if proxy is None else proxy.effects
    weight = 0.0 if proxy is None else 0.7
    return OddKernel(0.8, rng.uniform(0.05, 1.5, p), 0.3, weight, effects)


def dense_prior(kernel, p, proxy=None):
    """Covariance of v on the whole cube, straight from the definition of the prior."""
    masks = cube(p)
    apart = (masks[:, None, :] != masks[None, :, :]) @ kernel.rates
    linear = signs_of(masks) @ signs_of(masks).T * kernel.linear / 4
    total = kernel.signal * np.exp(-apart) + linear
    if proxy is not None:
        values = proxy.game(masks)
        total = total + kernel.proxy * np.outer(values, values)
    return total
