"""steps.py PAGE prints the `run:` steps of the workflow on the page as a script for sh. The script also has the steps
that a cache may replace. The script runs on a bare Debian 12, in a folder with saxpy.cu. KILN and KILN_VERSION name the
repository and the version to clone."""
import pathlib, re, sys

page = pathlib.Path(sys.argv[1]).read_text()
workflow = re.search(r"^```yaml\n(.*?)^```", page, re.M | re.S).group(1)
print("set -e")
for name, block in re.findall(r"^ +- name: (.*)\n(?:^ +(?:if|id): .*\n)?^ +run: \|\n((?:^ {10}.*\n)+)", workflow, re.M):
    print(f"echo '== {name}'\n(\nset -e\n" + re.sub(r"^ {10}", "", block, flags=re.M) + ")")
