"""What a model keeps: points, features and samples, and the arrays that belong to them."""
