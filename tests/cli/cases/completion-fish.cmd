# needs fish
kiln completion fish | fish --no-execute
