# exit 2
# Errors of kiln report: input without usable samples, and a missing library.
kiln tune add -v wide >/dev/null
for bad in "report add --vega none" "report add --vega $SPECS" "report subtract" "report" "report add --seed 3" \
    "report add --gnuplot a -o b" "report add --json -o -" "report add --store none.db" "report none/add.yaml" \
    "report --replay none.json" "report add --replay none.json"; do
    case $bad in *vega*) ;; *) mkdir -p vega; echo > vega/vega.min.js; export KILN_VEGA=vega ;; esac
    kiln $bad
    echo "exit $?"
done
KILN_VEGA=/nowhere kiln report add
kiln report add -o none/report.html
echo "exit $?"
kiln report add more words
