# One valid configuration is enough, and nothing is counted.
kiln best hard
