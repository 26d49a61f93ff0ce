"""Recordings: a full grid of networks and deployments, measured once, for people without the hardware."""
