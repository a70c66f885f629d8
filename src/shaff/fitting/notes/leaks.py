"""Notes about inputs that give the outcome away, alone or together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shaff._util.words import enumerated, listed
from shaff.fitting.facts import Facts
from shaff.fitting.findings import Identity, Term

# One input alone explains this much: more than nature allows, as a rule; and what is still worth a
# look. Lower, and good predictors of clean tables are named (`benchmarks.pages --real`).
LEAK, NEARLY = 0.99, 0.97
# Terms of a formula that are written out.
FEW_TERMS = 4


def given_away(facts: Facts) -> Iterator[str]:
    """Inputs have the outcome in other words."""
    leaks, y = facts.checks.leaks, facts.target
    if leaks.ordered:
        yield (
            f"{_each(leaks.ordered)} the rows in the order of {y}, or the opposite, almost "
            f"without exception: {_pronoun(leaks.ordered)} {y} on another scale (units, logarithm, "
            f"rank, classes), or computed from it? {_advice(leaks.ordered)}"
        )
    if leaks.separating:
        yield (
            f"{_each(leaks.separating, 'separates', 'separate')} the classes of {y} without "
            f"exception: {_pronoun(leaks.separating)} computed from {y}, or known only after it? "
            f"{_advice(leaks.separating)}"
        )
    if leaks.determining:
        yield (
            f"{_each(leaks.determining, 'has', 'have')} one {y} for each value, in all rows: "
            f"{_pronoun(leaks.determining)} {y} under another name, or the unit that it was "
            f"measured on? {_advice(leaks.determining)}"
        )


def identities(facts: Facts) -> Iterator[str]:
    """Inputs give the outcome together, by a formula."""
    for identity in facts.checks.identities:
        digits = ", up to the digits that are written" if identity.is_rounded else ""
        rows = f" but {identity.n_exceptions}" * (identity.n_exceptions > 0)
        yield (
            f"In all rows{rows} {_formula(identity, facts.target)}{digits}. If that is how "
            f"{facts.target} is defined, leave out {listed(identity.names)}: with them it is "
            "explained by definition."
        )


def explained_alone(facts: Facts) -> Iterator[str]:
    """Inputs explain the outcome nearly perfectly, each alone."""
    alone, y = facts.first_order, facts.target
    # What a model predicts, or a simulator returns, may well be a function of one input.
    if alone is None or not facts.task.explains_outcome or facts.is_simulated:
        return
    left = [k for k in np.argsort(-alone, kind="stable") if _is_new(facts, int(k))]
    sure = [int(k) for k in left if alone[k] > LEAK]
    nearly = [int(k) for k in left if NEARLY < alone[k] <= LEAK]
    if sure:
        names = [facts.names[k] for k in sure]
        yield (
            f"{_shares(facts, sure)}: {_pronoun(names)} {y} under another name, or known only "
            f"after it? {_advice(names)}"
        )
    if nearly:
        names = [facts.names[k] for k in nearly]
        known = "it is" if len(names) == 1 else "they are"
        yield f"{_shares(facts, nearly)}, which is rare: make sure that {known} known before {y}."


def _is_new(facts: Facts, place: int) -> bool:
    return facts.names[place] not in facts.checks.leaks.names


def _shares(facts: Facts, places: list[int]) -> str:
    assert facts.first_order is not None
    parts = [f"{facts.names[k]!r} alone explains {_percent(facts.first_order[k])}" for k in places]
    more = f" and {len(parts) - FEW_TERMS} more inputs as much" * (len(parts) > FEW_TERMS)
    return f"{', '.join(parts[:FEW_TERMS])}{more} of {facts.target}"


def _percent(share: float) -> str:
    # Corrected values may exceed 1 by their error.
    return f"{100 * min(share, 1.0):.1f} %"


def _each(names: tuple[str, ...], one: str = "puts", many: str = "put") -> str:
    return f"{listed(names)} {one if len(names) == 1 else many}"


def _pronoun(names: tuple[str, ...] | list[str]) -> str:
    return "is it" if len(names) == 1 else "are they"


def _advice(names: tuple[str, ...] | list[str]) -> str:
    return "Then leave it out." if len(names) == 1 else "Then leave them out."


def _formula(identity: Identity, y: str) -> str:
    """The formula in words: as a sum, or as a product where it is one of logarithms."""
    if len(identity.terms) > FEW_TERMS:
        names = enumerated([repr(name) for name in identity.names])
        if identity.of_log:
            return f"the logarithm of {y} is a linear function of those of {names}"
        return f"{y} is a linear function of {names}"
    if identity.of_log and all(term.is_log for term in identity.terms):
        return f"{y} = {_product(identity)}"
    left = f"log {y}" if identity.of_log else y
    return f"{left} = {_sum(identity)}"


def _sum(identity: Identity) -> str:
    digits = 3 if identity.is_rounded else 4
    parts = [_signed(term.weight, _word(term), digits) for term in identity.terms]
    largest = max(abs(term.weight) for term in identity.terms)
    if abs(identity.constant) > 1e-6 * largest:
        parts.append(_signed(identity.constant, "", digits))
    text = " ".join(parts)
    return text.removeprefix("+ ") if text.startswith("+") else "−" + text.removeprefix("− ")


def _signed(weight: float, word: str, digits: int) -> str:
    size = f"{abs(weight):.{digits}g}"
    is_one = word and size == "1"
    text = word if is_one else " · ".join(filter(None, (size, word)))
    return f"{'−' if weight < 0 else '+'} {text}"


def _word(term: Term) -> str:
    (first, _), *more = term.inputs
    text = repr(first) + "".join(f" {'·' if p == 1 else '/'} {name!r}" for name, p in more)
    return f"log {text}" if term.is_log else text


def _product(identity: Identity) -> str:
    digits = 3 if identity.is_rounded else 4
    factor = f"{np.exp(identity.constant):.{digits}g}"
    above = [_power(term, digits) for term in identity.terms if term.weight > 0]
    below = [_power(term, digits) for term in identity.terms if term.weight < 0]
    if factor != "1" or not above:
        above.insert(0, factor)
    return " / ".join([" · ".join(above), *below])


def _power(term: Term, digits: int) -> str:
    exponent, word = f"{abs(term.weight):.{digits}g}", repr(term.inputs[0][0])
    return word if exponent == "1" else f"{word}^{exponent}"
