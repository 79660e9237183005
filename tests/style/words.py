#!/usr/bin/env python3
"""Finds words and phrases that are not used (words.txt beside this file says which, and what to write instead).

    words.py SOURCE_FOLDER            the test: exit 1 with a line for each place
    words.py SOURCE_FOLDER FILE...    the same for these files

Of Markdown files everything but code is read (fenced blocks, indented blocks, what stands in backticks); of C and CUDA
files comments and string literals (messages and help texts), but not the names after #include; of other files
everything."""
import bisect
import pathlib
import re
import sys


def read_list(path):
    """Globs, globs that are left out, and [(pattern, its first word, instead)]."""
    files, left_out, phrases = [], [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "files":
            files.append(rest.strip())
        elif word == "except":
            left_out.append(rest.strip())
        else:
            phrase, separator, instead = line.partition(" = ")
            if not separator:
                sys.exit(f"{path}:{number}: neither `files GLOB` nor `except GLOB` nor `phrase = what to write`")
            source = phrase[1:] if phrase.startswith("~") else r"\b" + re.escape(phrase) + r"\b"
            source = re.sub(r"(\\)? ", r"[\\s*]+", source)  # also across the ends of lines of a comment
            # What a text must have for the pattern to be worth a look.
            begins = "" if phrase.startswith("~") else phrase.split()[0].lower()
            phrases.append((re.compile(source, re.I), begins, instead.strip()))
    return files, left_out, phrases


def blank(text):
    """As many lines as the text has, and nothing else."""
    return " " + "\n" * text.count("\n")


def text_of(path):
    """What is read of a file, line by line where it was."""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```", lambda match: blank(match[0]), text, flags=re.M | re.S)
        text = re.sub(r"^ {4}.*$", " ", text, flags=re.M)
        return re.sub(r"`[^`\n]*`", " ", text)
    if path.suffix in (".c", ".h", ".inc", ".def", ".cu", ".cuh"):
        text = re.sub(r"^#include.*$", " ", text, flags=re.M)
        kept, end = [], 0
        for match in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', text, re.S):
            kept.append(blank(text[end:match.start()]))
            if match[0][0] == '"':  # a phrase may go on in the next literal, or after "\n"
                kept.append(re.sub(r'\\.|"', " ", match[0]))
            else:
                kept.append(match[0] if match[0][0] == "/" else " ")
            end = match.end()
        return "".join(kept) + blank(text[end:])
    return text


def find(path, phrases):
    text = text_of(path)
    lower = text.lower()
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    for pattern, begins, instead in phrases:
        for match in pattern.finditer(text) if begins in lower else ():
            found = re.sub(r"[\s*]+", " ", match[0])
            yield bisect.bisect_right(starts, match.start()), found, "leave it out" if instead == "--" else instead


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    files, left_out, phrases = read_list(pathlib.Path(__file__).with_name("words.txt"))
    paths = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    if not paths:
        skipped = {path for glob in left_out for path in source.glob(glob)}
        paths = sorted({path for glob in files for path in source.glob(glob) if path.is_file()} - skipped)
    bad = 0
    for path in paths:
        for line, found, instead in find(path, phrases):
            print(f"{path.relative_to(source)}:{line}: \"{found}\": write: {instead}")
            bad += 1
    print(f"{len(paths)} files, {len(phrases)} phrases: {bad or 'nothing'} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
