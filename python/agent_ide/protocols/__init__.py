"""One folder a protocol; base.py says what each must give."""
