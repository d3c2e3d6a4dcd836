"""The compiled core's readable twin: slow NumPy code that says what the papers say, the oracle of the tests.

`prior` and `mixed` hold the partition laws, `likelihoods` the marginal likelihoods, `gibbs` and `slicing`
one plain sampler, `trees` the hierarchical clusterings. Arrays in, arrays out; nothing here knows the
package's classes.
"""

from hedgerow.reference import gibbs, likelihoods, mixed, prior, slicing, trees

__all__ = ["gibbs", "likelihoods", "mixed", "prior", "slicing", "trees"]
