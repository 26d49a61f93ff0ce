"""Proposals: methods that name designs instead of scoring candidates."""

from flexibo.proposals.base import Proposal
from flexibo.proposals.nsga2 import Nsga2
from flexibo.proposals.sobol import SobolSequence

__all__ = ["Nsga2", "Proposal", "SobolSequence"]
