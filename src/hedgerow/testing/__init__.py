"""The exam: exact posteriors of small data sets, and checks that any prior, likelihood or kernel can sit.

Every check returns a `Report` with `.passed`, `.statistics`, `.text` and `.raise_if_failed()`. Statistical
checks are deterministic given their seed, and raise a false alarm with probability `level` at most.
"""

from hedgerow.testing.driving import KernelDraws, PythonKernel
from hedgerow.testing.exact import ExactPosterior, exact_posterior
from hedgerow.testing.joint import geweke
from hedgerow.testing.kernel import check_kernel
from hedgerow.testing.likelihoods import check_likelihood
from hedgerow.testing.partitions import enumerate_partitions
from hedgerow.testing.priors import check_prior
from hedgerow.testing.reference_kernel import ReferenceGibbs
from hedgerow.testing.report import CheckFailedError, Finding, Report
from hedgerow.testing.sbc import SbcReport, sbc
from hedgerow.testing.weighted import check_weighted

__all__ = [
    "CheckFailedError",
    "ExactPosterior",
    "Finding",
    "KernelDraws",
    "PythonKernel",
    "ReferenceGibbs",
    "Report",
    "SbcReport",
    "check_kernel",
    "check_likelihood",
    "check_prior",
    "check_weighted",
    "enumerate_partitions",
    "exact_posterior",
    "geweke",
    "sbc",
]
