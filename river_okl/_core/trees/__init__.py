"""A forest of Hoeffding trees: trees in bounded memory, prediction and learning, and leaves of a target."""
