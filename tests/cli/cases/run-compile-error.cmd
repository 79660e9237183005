# exit 9
kiln run wrong -v garbled -p WORD=integer
