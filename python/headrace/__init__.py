"""Headrace: an MPI library whose first citizen is GPU memory. This package holds its command line."""
