# needs chromium
# needs /usr/share/javascript/vega
# In a browser every chart is drawn, nothing is complained of, and a narrow window scrolls its tables and not the page.
look() {
    sed 's|</body>|<script>setTimeout(() => { document.body.dataset.over = document.documentElement.scrollWidth - innerWidth; }, 3000)</script>&|' \
        "$1" > looked.html
    chromium --headless=new --no-sandbox --disable-gpu --user-data-dir=profile --enable-logging=stderr --dump-dom \
        --virtual-time-budget=20000 --window-size="$2",12000 "file://$PWD/looked.html" 2>log >dom.html
    grep CONSOLE log
    grep -o 'data-over="[^"]*"' dom.html
    grep -oE '<div class="chart"[^>]*><svg' dom.html | sed 's/.*aria-label="//; s/".*//' | sort
}
kiln tune add >/dev/null
kiln report add
look report.html 1400
look report.html 500
