kiln help hosts >all
head -n 6 all
# one of each use: the engine's own, then functions of the catalogue
grep -A 1 -e '^  captured$' -e '^  matmul_f64$' -e '^  sparse_matrix$' -e '^  cutoff_bins$' all
grep '^[RIS].*(' all
