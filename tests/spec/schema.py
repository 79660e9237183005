#!/usr/bin/env python3
"""schema.py KILN SOURCE_FOLDER: checks specs with the JSON schema that `kiln spec --schema` prints, as an editor does.

Every good spec of the tree must match the schema. A broken spec of tests/spec/broken must not match it, unless UNSEEN names the
spec: a schema cannot find errors in names, expressions and numbers, or in the YAML itself. The specs of the catalogue
name the schema file in their folder, which must equal the output of the command. If the test is skipped, it prints the
reason and exits with 77."""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIP tool: no Python module {missing.name} (tools/setup.sh --test installs it)")
    sys.exit(77)

GOOD = ["specs/*.yaml", "specs/examples/*.yaml", "tests/spec/good/*.yaml", "tests/tune/*.yaml",
        "tests/estimate/specs/*.yaml", "tests/judge/ops/*.yaml", "tests/counters/*.yaml", "tests/cli/specs/*.yaml", "tests/inject/spec/*.yaml"]
FILE, NAMES_IT = "specs/kiln.schema.json", "# yaml-language-server: $schema=kiln.schema.json"
UNSEEN = set("""
    arg-buffer-in-expression arg-unknown arg-unknown-far bake-define bake-param bake-unknown buffer-dims buffer-from
    buffer-shape-unknown buffer-type buffer-type-param buffer-variant-out cooperative-yes define-param define-twice
    define-unknown duplicate-key duplicate-variant expression-constant-fails expression-equals expression-function
    expression-multi-line expression-syntax expression-unclosed feature-unknown feature-varies fill-count fill-words grid-four
    input-buffer input-later input-near judge-size kernel-from-input kernel-template kernel-template-open let-cycle let-itself
    let-variant-name many-errors merge-key metric-cycle metric-elsewhere metric-flops-measured metric-override-cycle
    metric-unknown metrics-unknown name-is-function needs-size no-source options-unknown param-True
    param-default param-duplicate-value param-expression-name param-macro param-mixed param-range-in-words
    param-shadows-size range-empty
    size-extent
    range-huge range-step-zero range-text range-times sizes-boolean sizes-differ sizes-text symbol-step tag
    target-name
    unknown-device-name unknown-input variant-shadows-spec verify-host-argument verify-host-unknown verify-host-use verify-unknown
    tolerance-exact tolerance-unknown verify-sampled verify-variant where-input where-text-unquoted where-unknown
""".split())


def load(path):
    """Returns the content of the spec, or None if it is no YAML. Only Kiln's reader tests tags, and aliases that
    contain themselves."""
    try:
        return yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, ValueError):
        return None


def main():
    kiln, source = sys.argv[1], pathlib.Path(sys.argv[2])
    printed = subprocess.run([kiln, "spec", "--schema"], check=True, capture_output=True, text=True).stdout
    schema = json.loads(printed)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    wrong, good, refused, named = [], 0, 0, set()
    if (source / FILE).read_text() != printed:
        wrong.append(f"{FILE} is not what the table of keys says: kiln spec --schema > {FILE}")
    for path in sorted(source.glob("specs/*.yaml")):
        if path.read_text().splitlines()[0] != NAMES_IT:
            wrong.append(f"{path}: its first line is not {NAMES_IT}")
    for pattern in GOOD:
        for path in sorted(source.glob(pattern)):
            good += 1
            for error in validator.iter_errors(load(path)):
                wrong.append(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    for path in sorted((source / "tests/spec/broken").glob("*.yaml")):
        spec = load(path)
        if spec is None and path.read_bytes().strip():
            continue
        if not validator.is_valid(spec):
            refused += 1
            if path.stem in UNSEEN:
                wrong.append(f"{path}: the schema refuses it: take it out of the list in schema.py")
        elif path.stem not in UNSEEN:
            wrong.append(f"{path}: the schema takes it: what is wrong with it belongs to the table, or it into the list "
                         "in schema.py")
        named.add(path.stem)
    wrong += [f"schema.py: there is no broken spec {name}" for name in sorted(UNSEEN - named)]
    print("\n".join(wrong) if wrong else f"{good} good specs, {refused} broken ones that the schema refuses")
    return 1 if wrong or good < 20 or refused < 30 else 0


sys.exit(main())
