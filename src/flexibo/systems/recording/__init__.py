"""Recordings: a full grid of networks and deployments, measured once, for use without the hardware."""
