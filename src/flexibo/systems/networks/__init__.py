"""The paper's networks, one file each; they need torch."""
