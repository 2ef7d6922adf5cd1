"""Hostile input, misbehaving agents, faults: each test tells a figure (`make torture`)."""
