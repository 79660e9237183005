kiln run add --no-cache | grep code
kiln run add --no-cache | grep code
find "$HOME" -path '*cache/*' | wc -l
