"""page.py FILE: prints the content of a page of `kiln report` for golden cases: headings, tables, charts, data. It
fails if the page could fetch something, or has an element or an attribute that Kiln does not write. In that case a text
was taken for markup."""
import html.parser
import json
import re
import sys

ELEMENTS = set("""html head meta title style body header h1 h2 h3 h4 p noscript main section article div table thead tbody tr th
td pre code b br span a dl dt dd details summary footer script""".split())
ATTRIBUTES = set("lang charset http-equiv content name class id scope href data-chart tabindex role hidden type".split())
EMPTY = {"meta", "br"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.scripts, self.shown, self.text, self.rows = [], {}, [], "", []

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        if tag not in ELEMENTS or set(names) - ATTRIBUTES:
            sys.exit(f"not of the page's own: <{tag} {attributes}>")
        if "href" in names and not names["href"].startswith("#"):
            sys.exit(f"a link to elsewhere: {names['href']}")
        if tag not in EMPTY:
            self.open.append((tag, names))
        if tag in ("h1", "h2", "h3", "title", "th", "dt", "summary"):
            self.text = ""
        if tag == "table":
            self.rows, self.heads = [], []
        if tag == "tr":
            self.rows.append(0)
        if "data-chart" in names:
            self.shown.append(f"chart {names['data-chart']}")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            sys.exit(f"</{tag}> closes {self.open[-1:]}")
        self.open.pop()
        if tag in ("title", "h1", "h2", "h3", "summary"):
            self.shown.append(f"{tag} {self.text.strip()}")
        if tag == "dt":
            self.shown.append(f"  {self.text.strip()}")
        if tag == "th":
            self.heads.append(re.sub(r"\([mµn]?s\)", "(UNIT)", self.text))
        if tag == "table":
            self.shown.append(f"table {', '.join(self.heads)}: {len(self.rows) - 1} rows")

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            self.scripts.setdefault(self.open[-1][1].get("id", "code"), []).append(data)
        elif self.open and self.open[-1][0] == "style":
            if "url(" in data or "@import" in data:
                sys.exit("the style fetches something")
        else:
            self.text += data


page = Page()
with open(sys.argv[1], encoding="utf-8") as file:
    page.feed(file.read())
page.close()
if page.open:
    sys.exit(f"not closed: {page.open}")
for line in page.shown:
    print(line)
data = json.loads("".join(page.scripts["kiln-data"]))
specs = json.loads("".join(page.scripts["kiln-specs"]))
print("specs of charts:", *sorted(specs))
for problem in data.get("problems", []):
    print(f"{problem['device']} {problem['sizes']}: {problem['count']} samples, {problem['ran']} ran, "
          f"{len(problem['points'])} points, {len(problem['failures'])} failures, {problem['time']}")
    times = [step[3] for step in problem["steps"]]
    assert times == sorted(times, reverse=True), times
    # sorted by name, because on the simulated device any variant may be the fastest
    for variant in sorted(problem["variants"], key=lambda variant: variant["name"]):
        print(f"  {variant['name']}: {variant['ran']} of {variant['count']}, {len(variant['lines'])} lines,",
              *(f"{p['name']} {'|'.join(p['labels'])}" for p in variant["params"]),
              *(f"{len(pair['cells'])} cells" for pair in variant["pairs"]))
for strategy in data.get("strategies", []):
    print(f"{strategy['name']}: {len(strategy['curves'])} curves of {len(strategy['curves'][0])}")
