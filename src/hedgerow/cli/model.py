"""Priors, likelihoods and kernels from the command line: the calls one would write in Python, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow import kernels, likelihoods, priors
from hedgerow.cli.output import line_width, say
from hedgerow.data.copies import Copies
from hedgerow.data.files import Dataset
from hedgerow.errors import ParameterError
from hedgerow.kernels import Kernel, Tempered, cycle, mix
from hedgerow.likelihoods import Likelihood
from hedgerow.mixture import Mixture
from hedgerow.priors import Prior
from hedgerow.proposing import default_prior, propose
from hedgerow.report.markup import counted

__all__ = ["add_model_arguments", "choose_model", "choose_with_copies", "read_kernel", "read_likelihood", "read_prior", "tell_proposal"]

PRIORS, LAWS = ({cls.__name__: cls for cls in classes} for classes in (priors.PRIORS, priors.LAWS))
LIKELIHOODS = {cls.__name__: cls for cls in likelihoods.LIKELIHOODS if cls.from_values} | {"Preparation": likelihoods.Preparation}
KERNELS: Mapping[str, Any] = {cls.__name__: cls for cls in kernels.KERNELS} | {f.__name__: f for f in (cycle, mix, Tempered)}

MOST_TOLD = 4  # columns


def add_model_arguments(parser: Any) -> None:
    """The options that choose prior and likelihood."""
    group = parser.add_argument_group("model (guessed from the data if left out)")
    group.add_argument("--prior", metavar="CALL", help=f"one of {', '.join(PRIORS)}, e.g. 'NGG(alpha=Gamma(1, 1), sigma=0.3)'")
    group.add_argument("--likelihood", metavar="CALL", help=f"one of {', '.join(LIKELIHOODS)}, e.g. 'GaussianDiagonal()'")


def choose_model(source: Dataset, prior: str | None, likelihood: str | None) -> Mixture:
    """The model asked for, what was left out guessed from the data; says what and why."""
    return choose_with_copies(source, prior, likelihood)[0]


def choose_with_copies(source: Dataset, prior: str | None, likelihood: str | None) -> tuple[Mixture, Copies | None]:
    """The same, and which rows the proposal takes for exact copies of others."""
    same: Copies | None = None
    law: Prior = default_prior() if prior is None else read_prior(prior)
    n = source.X.shape[0]
    said = "" if prior is not None else " (--prior changes it)"
    about = 0 if law.grouped else round(law.expected_clusters(n))
    expects = "" if law.grouped else f", which expects about {counted(about, 'cluster')} in {counted(n, 'row')}"
    say(f"Prior: {law}{expects}{said}.")
    if likelihood is not None:
        family = read_likelihood(likelihood)
        say(f"Likelihood: {likelihood.strip()}, what it leaves open taken from the data.")
        model = Mixture(law, family).resolve(source.X)
    else:
        proposal = propose(source, prior=law)
        family, model, same = proposal.likelihood, proposal.mixture, proposal.copies
        say("Likelihood (--likelihood changes it):")
        tell_proposal(proposal.explained())
    spreads = _spreads(model.likelihood, family, source.names)
    if spreads:
        told = ", ".join(spreads[:MOST_TOLD]) + (", ..." if len(spreads) > MOST_TOLD else "")
        say(f"Base measure: fitted to the columns, whatever their units. Standard deviations expected in a cluster: about {told}.")
    return model, same


def tell_proposal(text: str) -> None:
    """Say the likelihood, then a line for each group of columns; what does not fit on a line goes on under its last field.

    Where names are so long that little room is left beside them, the rest stands below them.
    """
    for line in text.splitlines():
        fields = [match.end() for match in re.finditer(r"(?<=\S) {2,}", line)]
        if fields and fields[-1] > 0.7 * line_width():
            names, *rest = re.split(r"(?<=\S) {2,}", line)
            say("  " + names, 6)
            say("      " + ": ".join(rest), 8)
        else:
            say("  " + line, 2 + fields[-1] if fields else 4)


def _spreads(resolved: Likelihood, before: Likelihood, names: Sequence[Any] | None) -> list[str]:
    """For every column whose base measure was fitted: its name, and the standard deviation expected within a cluster."""
    told = []
    for columns, part, was in zip(resolved.factor_columns(names), resolved.factors(), before.factors(), strict=True):
        variances = None if part == was or not part.is_resolved else part.expected_variances()
        if variances is not None:
            words = [name if isinstance(name, str) else f"column {name}" for name in columns]
            deviations = zip(words, np.sqrt(variances).tolist(), strict=True)
            told += [f"{number:.3g} ({word})" for word, number in deviations if number == number]
    return told


def read_prior(text: str) -> Prior:
    """The prior asked for."""
    prior: Prior = _read(text, {**PRIORS, **LAWS}, Prior, "--prior")
    return prior


def read_likelihood(text: str) -> Likelihood:
    """The likelihood asked for; what it leaves open is still open."""
    likelihood: Likelihood = _read(text, LIKELIHOODS, Likelihood, "--likelihood")
    return likelihood


def read_kernel(text: str | None) -> Kernel | None:
    """The kernel asked for; None for the default."""
    return None if text is None else _read(text, KERNELS, Kernel, "--kernel")


def _read(text: str, known: Mapping[str, Any], wanted: type, option: str) -> Any:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ParameterError(f"{option} {text!r}: must be a call such as {next(iter(known))}(). Got {error}.") from error
    made = _evaluate(tree, known, option)
    if not isinstance(made, wanted):
        raise ParameterError(f"{option} {text!r}: must be one of {', '.join(known)}.")
    return made


def _evaluate(node: ast.expr, known: Mapping[str, Any], option: str) -> Any:
    """Calls of known names, numbers, texts and collections of these; no other Python is run."""
    match node:
        case ast.Constant(value=int() | float() | str() | bool() | None):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_evaluate(item, known, option) for item in items)
        case ast.Dict(keys=keys, values=values) if all(key is not None for key in keys):
            pairs = zip(keys, values, strict=True)
            return {_evaluate(key, known, option): _evaluate(value, known, option) for key, value in pairs if key is not None}
        case ast.Name(id=name) if name in known:
            return known[name]()
        case ast.Call(func=ast.Name(id=name), args=items, keywords=named) if name in known and all(k.arg for k in named):
            chosen = {str(k.arg): _evaluate(k.value, known, option) for k in named}
            try:
                return known[name](*(_evaluate(item, known, option) for item in items), **chosen)
            except TypeError as error:
                raise ParameterError(f"{option}: {name}(...) cannot be made so. {error}") from error
    raise ParameterError(f"{option}: {ast.unparse(node)!r} must be a number, a text or one of {', '.join(known)}.")
