"""Helpers that several kinds of tests share: a real Neovim, a pty, a scripted peer."""
