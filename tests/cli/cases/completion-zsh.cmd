# needs zsh
# The script loads as a completion function of zsh, without a terminal.
mkdir functions
kiln completion zsh >functions/_kiln
zsh -f -n functions/_kiln
zsh -f -c 'fpath=($PWD/functions $fpath); autoload -Uz compinit && compinit -D -u; echo ${_comps[kiln]}'
