"""A forest of Hoeffding trees: the trees and their memory, what they do with a sample, and two kinds of leaf."""
