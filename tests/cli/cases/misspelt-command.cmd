# exit 2
kiln tnue x
