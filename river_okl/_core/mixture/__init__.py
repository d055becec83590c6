"""The mixture of experts behind ``OKLClassifier`` and ``OKLRegressor``: one expert a file."""
