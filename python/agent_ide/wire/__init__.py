"""Message grammar shared by the protocols; pure."""
