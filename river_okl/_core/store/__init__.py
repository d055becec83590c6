"""Storage of a model: points, features and samples, and the arrays that belong to them."""
