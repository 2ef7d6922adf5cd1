"""Speed and memory, as ratios against something measured in the same run: see README.md."""
