"""What is predicted for candidates and what they cost: predictions, prices, failures, the budget, the reported designs.

It imports the history, the surrogates and the Pareto geometry. Methods and the optimizer build on it.
"""
