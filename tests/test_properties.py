"""The answer for a table, whatever its units, its order, its names and its container: see
`properties`, which says what is claimed for which learner."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from properties import CHANGES, CLAIMS, MAKERS, NUMBERS_ONLY, REFUSED, draw_table, without_town

from shaff.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)
SLOW = ("auto", "stack")
SAMPLED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def answer(learner, table):
    """Effects and standard errors of the inputs that are compared, and what all explain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of little data
        result = MAKERS[learner]().fit(table.X, table.y, **table.rows).result_
    places = [result.names.index(name) for name in table.names]
    errors = result.standard_errors
    of_inputs = [result.raw_effects[places]] + ([] if errors is None else [errors[places]])
    return np.concatenate([*of_inputs, [result.explained_variance]])


def pair(learner, change, seed):
    table = draw_table(seed)
    if learner in NUMBERS_ONLY:
        table = without_town(table)
    return CHANGES[change](table, np.random.default_rng(seed))


def check(learner, change, seed):
    one, other = pair(learner, change, seed)
    claim = CLAIMS[learner][change]
    if claim == REFUSED:
        with pytest.raises(InputError, match="take neither sample_weight nor row_groups"):
            answer(learner, one)
    else:
        np.testing.assert_allclose(
            answer(learner, other), answer(learner, one), rtol=0, atol=claim, err_msg=change
        )


def claimed(learner):
    """The changes that a learner is told to withstand; a reason is no such claim."""
    return [
        change
        for change, claim in CLAIMS[learner].items()
        if claim == REFUSED or not isinstance(claim, str)
    ]


def test_every_learner_and_change_has_a_claim():
    assert set(CLAIMS) == set(MAKERS)
    for claims in CLAIMS.values():
        assert set(claims) == set(CHANGES)


@pytest.mark.parametrize("learner", MAKERS)
def test_some_changes_of_a_table_change_no_answer(learner):
    @settings(SAMPLED, max_examples=1 if learner in SLOW else 3)
    @given(change=st.sampled_from(claimed(learner)), seed=SEEDS)
    def sampled(change, seed):
        check(learner, change, seed)

    sampled()


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "change"), [(n, c) for n in MAKERS for c in claimed(n)])
def test_no_change_of_a_table_changes_an_answer(learner, change):
    @settings(SAMPLED, max_examples=20)
    @given(seed=SEEDS)
    def long(seed):
        check(learner, change, seed)

    long()
