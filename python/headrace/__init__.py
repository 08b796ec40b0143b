"""Headrace: an MPI library built around GPU memory. This package contains its command-line tools."""
