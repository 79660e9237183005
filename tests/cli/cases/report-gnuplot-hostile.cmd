# needs gnuplot
# needs python3
# Names that gnuplot would run in double quotes, or that would end a string, are texts.
kiln tune add -v wide >/dev/null
kiln results export all.csv >/dev/null
python3 - <<'END'
import csv
with open("all.csv", newline="") as file:
    rows = list(csv.DictReader(file))
for row in rows:
    row["spec"] = "s`touch RAN`"
    row["variant"] = "v`touch RAN`'; system('touch RAN'); '\"; system(\"touch RAN\"); \"\\\"`touch RAN`@A"
    row["device"] = "d`touch RAN`\n`touch RAN`'"
with open("bad.csv", "w", newline="") as file:
    out = csv.DictWriter(file, rows[0].keys())
    out.writeheader()
    out.writerows(rows)
END
kiln results import bad.csv --store bad.db
kiln report 's`touch RAN`' --store bad.db --gnuplot figures
cd figures
grep -h 'set title' *.gp
for figure in best variants; do
    gnuplot -e 'KILN_SHOW = 1; set terminal svg; set output "a.svg"' $figure.gp && grep -o 's`touch RAN`, d`touch[^<]*' a.svg
done
ls
