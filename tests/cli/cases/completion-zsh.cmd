# needs zsh
kiln completion zsh >script && zsh -n script
