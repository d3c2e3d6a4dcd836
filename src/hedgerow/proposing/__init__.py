"""A model for a table that nobody has described: what is proposed and why, what is set aside, scores of what else might have been."""

from __future__ import annotations

from hedgerow.proposing.proposal import Proposal, default_prior, propose

__all__ = ["Proposal", "default_prior", "propose"]
