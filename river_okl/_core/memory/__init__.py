"""The latest samples of a stream in bytes, boosted trees that are rebuilt from them, and neighbours among them."""
