"""Bytes to and from a peer; no method names."""
