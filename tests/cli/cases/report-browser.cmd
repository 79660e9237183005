# needs browser
# needs /usr/share/javascript/vega
# In a browser every chart is drawn, the console is empty, and a narrow window scrolls its tables and not the page.
look() {
    # A page draws what comes into sight, and all of it before it is printed.
    sed 's|</body>|<script>dispatchEvent(new Event("beforeprint")); document.body.dataset.over = document.documentElement.scrollWidth - innerWidth;</script>&|' \
        "$1" > looked.html
    "$BROWSER" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=profile --enable-logging=stderr --dump-dom \
        --virtual-time-budget=20000 --window-size="$2",12000 "file://$PWD/looked.html" 2>log >dom.html
    grep CONSOLE log
    grep -o 'data-over="[^"]*"' dom.html
    grep -oE '<div class="chart"[^>]*><svg' dom.html | sed 's/.*aria-label="//; s/".*//' | sort
}
sed 's/^    params: {BLOCK: .*/    metrics: {threads: BLOCK \/ ITEMS}\n&/' "$SPECS/add.yaml" >add.yaml
cp "$SPECS/add.cu" .
kiln tune ./add.yaml --device sim:h200 >/dev/null
kiln tune ./add.yaml --device sim:t4 -v wide >/dev/null
kiln report add
look report.html 1400
look report.html 500
# The first chart, saved in both formats: with its title, and with the bytes of a PNG.
cat > click.html <<'END'
<script>
dispatchEvent(new Event("beforeprint"));
HTMLAnchorElement.prototype.click = function () {
    const line = document.createElement("p");
    line.textContent = "saved " + this.download + " " + this.href.slice(0, 22) + " " + decodeURIComponent(this.href).includes("Times of both</text>");
    document.body.append(line);
};
document.querySelectorAll(".save button").forEach((button, i) => i < 2 && button.click());
</script>
END
cat report.html click.html > looked.html
"$BROWSER" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=profile --enable-logging=stderr --dump-dom \
    --virtual-time-budget=20000 "file://$PWD/looked.html" 2>log | grep -o 'saved Times[^<]*' | sort
grep CONSOLE log
cat > space.json <<'END'
{"kernel_name": "k", "device_name": "A", "tune_params_keys": ["x", "y"], "cache": {
"1,1": {"x": 1, "y": 1, "time": 4.0, "compile_time": 100, "benchmark_time": 40},
"1,2": {"x": 1, "y": 2, "time": 2.0, "compile_time": 100, "benchmark_time": 20},
"2,2": {"x": 2, "y": 2, "time": 1.0, "compile_time": 100, "benchmark_time": 10}
}}
END
kiln compare-strategies space.json --seeds 2 --strategies exhaustive,random --plot scores.html >/dev/null
look scores.html 1400
