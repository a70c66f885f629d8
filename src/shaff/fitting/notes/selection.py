"""Sentences of selections."""

from __future__ import annotations

from collections.abc import Iterator

from shaff._util.words import counted, decimals, percent


def relevant(kept: int, n_inputs: int, target: str, alpha: float, adjust: str) -> str:
    """The finding of a selection of all relevant inputs."""
    if not kept:
        return (
            f"No input is kept: no effect on {target} is significantly above 0 at alpha = "
            f"{alpha:g} ({_NAMES[adjust]})."
        )
    verb = "has an effect" if kept == 1 else "have effects"
    false = "it" if kept == 1 else "any of them"
    chance = {
        "holm": f"the chance that {false} has none is at most {percent(alpha)}",
        "fdr": (
            f"of the inputs kept by this rule, at most {percent(alpha)} are expected to have none"
        ),
    }[adjust]
    share = f"{kept} of {counted(n_inputs, 'input')}"
    return f"{share} {verb} on {target} significantly above 0: {chance}."


_NAMES = {"holm": "Holm", "fdr": "false discovery rate"}


def rule_name(alpha: float, adjust: str) -> str:
    """How the rule of `relevant` is written."""
    return f"{_NAMES[adjust]}, {alpha:g}"


def minimal(
    kept: int,
    n_inputs: int,
    target: str,
    explained: tuple[float, float],
    error: float,
    measure: str = "variance",
) -> str:
    """The finding of a selection of the fewest inputs; ``explained`` by them, and by all."""
    digits = decimals(error)
    own, everything = (f"{value:z.{digits}f}" for value in explained)
    if not kept:
        return (
            f"No input is kept: all inputs together explain {everything} of the {measure} of "
            f"{target} on held-out rows, no more than the tolerance (standard error "
            f"{error:.{digits}f})."
        )
    predict, them = ("predicts", "it") if kept == 1 else ("predict", "them")
    return (
        f"{kept} of {counted(n_inputs, 'input')} {predict} {target} as well as all: learners that "
        f"are refitted on {them} explain {own} of its {measure} on held-out rows, all inputs "
        f"{everything} (standard error of the difference {error:.{digits}f})."
    )


def falls_short(own: float, everything: float, n_others: int) -> Iterator[str]:
    """No set of inputs that take part by name is within the tolerance."""
    yield (
        f"{counted(n_others, 'input')} that were screened explain {everything - own:z.3f} more "
        "together, which no set of the others makes up for; the set is compared with the others "
        "only. ShapleyEffects(screen=False) evaluates every input by name."
    )
