"""The sampler of flexibo for OptunaHub; everything is in the package flexibo."""

from flexibo.integrations.optuna import FlexiBOSampler

__all__ = ["FlexiBOSampler"]
