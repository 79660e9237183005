#!/usr/bin/env python3
"""Finds calls of the C library that read or write different bytes under another locale of the host program.

    locale.py SOURCE_FOLDER            the test: exit 1 with a line for each call
    locale.py SOURCE_FOLDER --planted  a tree with each kind of call: exit 1 where a call is not found

engine/base/locale.c has the functions to call instead. It is the one file that may call the functions of the C library.
The programs of tools/kiln and tools/worker may call them too: their main() binds its thread to the C locale, which this
test checks, and nothing there sets the locale of the process."""
import pathlib
import re
import sys
import tempfile

OWN = "engine/base/locale.c"
PROGRAMS = {"tools/kiln/": "tools/kiln/main.c", "tools/worker/": "tools/worker/main.c"}
# These programs do not contain the library, and never set a locale.
ALONE = ("engine/sim/device/ptx/tables/", "engine/sim/programs/library/nvidia_smi.c")
SUFFIXES = (".c", ".h", ".inc", ".def")

LETTERS = "isalpha isalnum isdigit isspace isupper islower isprint iscntrl ispunct isgraph isxdigit isblank toupper tolower"
FORBIDDEN = set((LETTERS + " strtod strtof strtold atof strcasecmp strncasecmp strcoll strxfrm strftime strptime fnmatch "
                 "regcomp regexec glob mbstowcs wcstombs mbrtowc wcrtomb btowc iswalpha wcwidth strfmon localeconv "
                 "nl_langinfo vsnprintf vsprintf vfprintf vdprintf vasprintf vprintf newlocale uselocale "
                 "vscanf vsscanf vfscanf strerror strerror_r strerror_l strsignal psignal perror").split())
ALWAYS = {"setlocale"}
PRINTS = {"printf", "fprintf", "dprintf", "snprintf", "sprintf", "asprintf", "sscanf", "fscanf", "scanf"}
# These functions read and write numbers of JSON by strtod() and snprintf(). So calls must be between
# kiln__locale_enter() and kiln__locale_leave().
JSON = re.compile(r"json_(load|dump)(s|b|f|fd|_file|_callback)$")
NUMBER = re.compile(r"%[-+ #0-9.*']*(?:hh|h|ll|l|L|j|z|t)?[aAeEfFgG]|%[-+ #0-9.*']*'")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def code_of(text):
    """Returns the text without comments, but with strings."""
    return re.sub(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|/\*.*?\*/|//[^\n]*',
                  lambda match: match[0] if match[1] else blank(match), text, flags=re.S)


def arguments_of(code, at):
    """Returns the text between the parenthesis at `at` and the parenthesis that closes it."""
    depth = 0
    for match in re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[()]').finditer(code, at):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return code[at + 1:match.start()]
    return code[at + 1:]


def why_forbidden(name, code, at, where):
    """Returns the reason why the call of `name`, whose parenthesis is at `at`, depends on the locale. Returns None if
    it does not depend on it."""
    if name in ALWAYS:
        return "changes the locale of the whole process"
    if where.startswith(tuple(PROGRAMS)) or where.startswith(ALONE):
        return None
    if name in FORBIDDEN:
        return "obeys the host's locale"
    if name in PRINTS:
        arguments = re.sub(r'"\s*(?:PRI|SCN)\w+\s*"', "d", arguments_of(code, at))
        literals = re.findall(r'"((?:\\.|[^"\\\n])*)"', arguments)
        if NUMBER.search("".join(literals).replace("%%", "")):
            return "writes or reads a number as the host's locale has it"
    if JSON.match(name) and "kiln__locale_enter()" not in code[max(0, at - 600):at]:
        return "writes or reads numbers as the host's locale has them, without kiln__locale_enter() before it"
    return None


def find(source):
    """Returns lines "FILE:LINE: problem" for the files of a tree."""
    bad = []
    for folder in ("engine", "kernel_src", "tools"):
        for path in sorted((source / folder).rglob("*")):
            where = path.relative_to(source).as_posix()
            if path.suffix not in SUFFIXES or where == OWN:
                continue
            code = code_of(path.read_text(errors="replace"))
            plain = re.sub(r'"(?:\\.|[^"\\\n])*"', blank, code)
            for match in re.finditer(r"\b([a-z]\w*)[ \n]*\(", plain):
                why = why_forbidden(match[1], code, match.end() - 1, where)
                if why:
                    line = code.count("\n", 0, match.start()) + 1
                    bad.append(f"{where}:{line}: {match[1]}() {why}; engine/base/locale.c has what to call instead")
    for folder, main in PROGRAMS.items():
        if "uselocale(newlocale(LC_ALL_MASK, \"C\"" not in (source / main).read_text():
            bad.append(f"{main}: main() does not bind its thread to the C locale, so {folder} must not call what obeys it")
    return bad


PLANTED = [
    "double a = strtod(text, &end);", "float a = strtof(text, NULL);", "double a = atof(text);",
    "bool a = isalpha((unsigned char)*text);", "int a = toupper(*text);", "bool a = strcasecmp(text, word) == 0;",
    "int a = strcoll(text, word);", "strftime(text, 9, \"%Y\", &parts);", "snprintf(text, 9, \"%g\", 0.5);",
    "snprintf(text, 9, \"%d of \"\n \"%.*f %%\", 1, 2, 0.5);", "fprintf(file, \"%-12.3e\", 0.5);", "sscanf(text, \"%lf\", &a);",
    "vsnprintf(text, 9, format, arguments);", "setlocale(LC_ALL, \"\");", "snprintf(text, 9, \"%'d\", 1000);",
    "json_t *a = json_loads(text, 0, NULL);", "puts(strerror(errno));", "perror(path);",
]
INNOCENT = [
    "double a = kiln__parse_double(text, &end); /* strtod(text, &end) */", "puts(kiln__error_text(errno));", "kiln__format(text, 9, \"%g\", 0.5);",
    "snprintf(text, 9, \"%d %%g\", 1);", "puts(\"strtod(text) %g\");", "snprintf(text, 9, \"%s %\" PRIu64 \" elements\", text, count);",
    "locale_t c = kiln__locale_enter();\n json_t *a = json_loads(text, 0, NULL);",
]


def check_planted():
    """Tests that each planted call is found, and that nothing is found in harmless code."""
    failures = 0
    for texts, wanted in ((PLANTED, 1), (INNOCENT, 0)):
        for text in texts:
            with tempfile.TemporaryDirectory() as name:
                top = pathlib.Path(name)
                for main in PROGRAMS.values():
                    (top / main).parent.mkdir(parents=True)
                    (top / main).write_text('uselocale(newlocale(LC_ALL_MASK, "C", 0));')
                (top / "engine").mkdir()
                (top / "engine/planted.c").write_text(f"void f(void)\n{{\n    {text}\n}}\n")
                found = find(top)
                if len(found) != wanted:
                    print(f"{text}: {len(found)} findings, not {wanted}: {found}")
                    failures += 1
                (top / "tools/kiln/main.c").write_text("int main(void) {}")
                if len(find(top)) != wanted + 1:
                    print("a main() that is not bound to the C locale is not found")
                    failures += 1
    return failures


def main():
    if "--planted" in sys.argv:
        sys.exit(1 if check_planted() else 0)
    bad = find(pathlib.Path(sys.argv[1]).resolve())
    for line in bad:
        print(line)
    sys.exit(1 if bad else 0)


main()
