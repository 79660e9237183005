# needs zsh
# Loaded as a completion function, without a terminal to complete on.
mkdir functions
kiln completion zsh >functions/_kiln
zsh -f -n functions/_kiln
zsh -f -c 'fpath=($PWD/functions $fpath); autoload -Uz compinit && compinit -D -u; echo ${_comps[kiln]}'
