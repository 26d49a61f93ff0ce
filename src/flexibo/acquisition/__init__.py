"""Acquisitions: one paper, one file. Each scores what could be measured next."""

from flexibo.acquisition.base import Acquisition
from flexibo.acquisition.flexibo import region_gain
from flexibo.acquisition.random import no_score, random_score

__all__ = ["Acquisition", "no_score", "random_score", "region_gain"]
