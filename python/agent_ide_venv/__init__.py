"""Build a venv that holds the locked third parties. Standard library: runs on a bare Python."""
