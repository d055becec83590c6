"""A forest of Hoeffding trees: trees and their memory, prediction and learning, and two kinds of leaf."""
