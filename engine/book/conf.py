"""The book of Kiln, for Sphinx with MyST: cmake --build build/release --target book

The source folder is the root of the repository, so that the book is built from the pages of the repository and not from
copies. A comment `<!-- kiln WORDS -->` in a page is replaced by the output of `kiln WORDS`. The comment `<!-- kiln
commands -->` is replaced by the help of every command. $KILN is the program."""
import html
import os
import re
import subprocess

from sphinx import addnodes
from sphinx.errors import ExtensionError

project = "Kiln"
author = copyright = "the Kiln developers"
extensions = ["myst_parser"]
root_doc = "engine/book/index"
include_patterns = ["*.md", "engine/**", "kernel_src/**", "tools/**", "tests/**"]
exclude_patterns = ["build*", "**/build*", "tests/*/corpus/**", "tests/sim/**"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 5  # links to sections, by the names that the pages have on the web
html_theme = "alabaster"
html_theme_options = {"description": "The fastest configuration of a CUDA kernel", "page_width": "75em"}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_show_sphinx = False
html_copy_source = False
# If the highlighter cannot parse a fenced code block, the block is shown without colours and without a warning.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]


def call(*words):
    """Returns the output of `kiln WORDS`."""
    try:
        return subprocess.run([os.environ["KILN"], *words], check=True, capture_output=True, text=True).stdout
    except (KeyError, OSError, subprocess.CalledProcessError) as failed:
        raise ExtensionError(f"kiln {' '.join(words)}: {failed!r}") from failed


def block(text):
    return f"```text\n{text.rstrip()}\n```\n"


def generate(match):
    words = match[1].split()
    if words != ["commands"]:
        return block(call(*words))
    listed = call("help").partition("\nCommands\n")[2].partition("\n\n")[0]
    names = re.findall(r"^  ([a-z-]+) ", listed, re.M)
    if len(names) < 10:
        raise ExtensionError(f"kiln help lists {len(names)} commands")
    return "\n".join(f"## kiln {name}\n\n{block(call(name, '--help-all'))}" for name in names)


def fill_in(_app, _name, source):
    source[0] = re.sub(r"^<!-- kiln (.*) -->$", generate, source[0], flags=re.M)


def add_navigation(app, page, _template, context, _tree):
    """Gives a page the tables of the first page as its navigation. Sphinx's own function copies the sections of all
    pages for each page. These copies took two fifths of the time."""
    def navigation(**_options):
        lines = []
        for table in app.env.tocs[root_doc].findall(addnodes.toctree):
            lines.append(f'<p class="caption"><span class="caption-text">{html.escape(table["caption"])}</span></p><ul>')
            for title, name in table["entries"]:
                title = html.escape(title or app.env.titles[name].astext())
                current = " current" if name == page else ""
                lines.append(f'<li class="toctree-l1{current}"><a class="reference internal{current}" '
                             f'href="{context["pathto"](name)}">{title}</a></li>')
            lines.append("</ul>")
        return "\n".join(lines)
    context["toctree"] = navigation


def setup(app):
    app.connect("source-read", fill_in)
    app.connect("html-page-context", add_navigation)
    return {"parallel_read_safe": True}
