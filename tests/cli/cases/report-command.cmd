# needs python3
# The commands that a page and a sweep show run the best configuration again, as they are written: from a path that a shell
# must be given in quotes, with a size that is none of the sets, a param that is a text, and a device.
mkdir vega "it's a folder" && echo > vega/vega.min.js
export KILN_VEGA=vega
cp "$SPECS/add.cu" "it's a folder/"
sed -e "s/^name: add/name: apart/" -e "s/ITEMS: \[1, 2\]}/ITEMS: [1, 2], LABEL: [\"a b\", \"it's\"]}/" "$SPECS/add.yaml" \
    >"it's a folder/apart.yaml"
taken() {
    sed -n 's/^<p class=run><code>//p' "$1" | sed 's/<.*//' |
        python3 -c 'import html, sys; print(html.unescape(sys.stdin.read()), end="")'
}
kiln tune "it's a folder/apart.yaml" -v plain -s N=77 -p LABEL="it's" -d sim:h200 --json >sweep.json
python3 -c 'import json; print(json.load(open("sweep.json"))["best"])' >from-sweep
kiln report "it's a folder/apart.yaml" -o page.html >/dev/null
taken page.html >from-page
for file in from-sweep from-page; do
    sed -E 's/(BLOCK|ITEMS)=[0-9]+/\1=N/g' $file
    sh ./$file | sed -n -E '1,3s/(BLOCK|ITEMS)=[0-9]+/\1=N/gp; 2,3p'
done
# By its name where that finds the same file.
kiln tune add -v plain -s prime >/dev/null
kiln report "$SPECS/add.yaml" -o named.html >/dev/null
taken named.html | sed -E 's/(BLOCK|ITEMS)=[0-9]+/\1=N/g'
# Several devices: the one that made the best sample.
kiln tune add -s tiny -d sim,sim --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["best"])' >several
sh ./several | sed -n 's/.*sim:generic.*/ran on sim:generic/p'
