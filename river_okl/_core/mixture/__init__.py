"""The mixture of experts behind ``OKLClassifier`` and ``OKLRegressor``: one expert per file."""
