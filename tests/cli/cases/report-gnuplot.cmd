# needs gnuplot
# Figures for a paper: gnuplot runs the scripts unchanged.
kiln tune add >/dev/null
kiln report add --gnuplot figures
ls figures
cut -d' ' -f1 figures/best.dat | tail -3
sed 's/".*/.../' figures/variants.dat
cd figures
for figure in best variants; do
    gnuplot -e 'KILN_SHOW = 1; set terminal svg; set output "a.svg"' $figure.gp && grep -c 'best' a.svg
done
