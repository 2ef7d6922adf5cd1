"""What an agent may ask of an editor, and the one editor that answers."""
