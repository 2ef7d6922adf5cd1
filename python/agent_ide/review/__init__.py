"""A diff awaits a verdict: one lifecycle for every protocol."""
