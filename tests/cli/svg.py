"""svg.py FILE...: prints the titles of charts that `kiln report --charts` wrote, for golden cases. It fails if a chart
is not well-formed, or has an element or an attribute that runs or fetches something."""
import sys
import xml.etree.ElementTree as xml

ELEMENTS = set("svg g rect path text line defs linearGradient stop clipPath title circle".split())

for name in sys.argv[1:]:
    root = xml.parse(name).getroot()
    texts, marks = [], 0
    for element in root.iter():
        tag = element.tag.split("}")[-1]
        if tag not in ELEMENTS:
            sys.exit(f"{name}: not of a chart: <{tag}>")
        for attribute, value in element.attrib.items():
            if attribute.startswith("on") or "href" in attribute or ("url(" in value and "url(#" not in value):
                sys.exit(f"{name}: {attribute}={value}")
        marks += tag in ("path", "rect", "line")
        if tag == "text" and (element.text or "").strip():
            texts.append(element.text)
    width, height = float(root.get("width")), float(root.get("height"))
    assert width >= 400 and height >= 150, (name, width, height)
    assert marks > 5, (name, marks)
    title = root.find(".//{*}g[@class='mark-text role-title-text']/{*}text")
    print(f"{name.split('/')[-1]}: {title.text if title is not None else None}")
