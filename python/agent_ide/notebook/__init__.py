"""Jupyter kernels for executeCode (extra `notebook`)."""
