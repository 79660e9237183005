#!/usr/bin/env python3
"""Finds words and phrases that the project does not use, and counts sentences that readers have to read twice.
words.txt beside this file has the phrases with their replacements, the patterns of such sentences, and a budget for
each group of files.

    words.py SOURCE_FOLDER            the test: exit 1 with a line for each phrase, or if a group exceeds its budget
    words.py SOURCE_FOLDER FILE...    the same for these files, and a line for each such sentence; budgets do not count
    words.py --sentences SOURCE_FOLDER GROUP    a line for each such sentence of a group
    words.py --planted                the test of the patterns: each finds a sentence that is planted here

A budget may only shrink. If a change needs fewer such sentences than the budget allows, lower the budget in words.txt.

In Markdown files the program reads everything except code: fenced blocks, indented blocks and text in backticks. In C
and CUDA files it reads comments and string literals (messages and help texts), but not the names after #include. In
other files it reads everything."""
import bisect
import pathlib
import re
import sys


MOST_WORDS, LEAST_WORDS = 38, 5  # a sentence of more words is too long; one of fewer words is not examined
TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*', re.S)


def read_list(path):
    """Returns globs, globs that are left out, [(pattern, its first word, replacement)], {group: (budget, kind, globs)}
    and [(reason, pattern of sentences)]."""
    files, left_out, phrases, budgets, patterns = [], [], [], {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "files":
            files.append(rest.strip())
        elif word == "except":
            left_out.append(rest.strip())
        elif word == "budget":  # budget GROUP COUNT KIND GLOB...
            group, count, kind, *globs = rest.split()
            budgets[group] = (int(count), kind, globs)
        elif word == "sentence":
            reason, _, pattern = rest.partition(" = ")
            patterns.append((reason.strip(), re.compile(pattern.strip())))
        else:
            phrase, separator, instead = line.partition(" = ")
            if not separator:
                sys.exit(f"{path}:{number}: neither `files GLOB` nor `except GLOB` nor `phrase = what to write`")
            source = phrase[1:] if phrase.startswith("~") else r"\b" + re.escape(phrase) + r"\b"
            source = re.sub(r"(\\)? ", r"[\\s*]+", source)  # a phrase may go on in the next line of a comment
            # A text that does not contain this word cannot match, so it need not be searched.
            begins = "" if phrase.startswith("~") else phrase.split()[0].lower()
            phrases.append((re.compile(source, re.I), begins, instead.strip()))
    return files, left_out, phrases, budgets, patterns


def blank(text):
    """Returns a text with the same number of lines, and nothing else."""
    return " " + "\n" * text.count("\n")


def text_of(path):
    """Returns the part of a file that the program reads, with each line at its place."""
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


def paragraphs(text):
    """Yields the paragraphs, list items and table cells of a Markdown text, each with its line."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", lambda match: blank(match[0]), text, flags=re.M | re.S)
    begun, collected = 0, []
    for line, words in enumerate(text.split("\n") + [""], 1):
        item = re.match(r"\s*([-*]|\d+\.)\s", words)
        row = re.match(r"\s*\|", words)
        if (not words.strip() or row or item or re.match(r" {4}|\t|#", words)) and collected:
            yield begun, " ".join(collected)
            collected = []
        if row:
            yield from ((line, cell.strip()) for cell in words.strip().strip("|").split("|"))
        elif words.strip() and not re.match(r" {4}|\t|#", words):
            begun = begun if collected else line
            collected.append(re.sub(r"^\s*([-*]|\d+\.)\s+", "", words).strip())


CODE = re.compile(r"%[a-z]+\d|\.[bfsu](16|32|64)\b|::|template <|typedef |struct alignas|operator\(")  # PTX and CUDA C++


def blocks(path, kind):
    """Yields (line, text) for each paragraph, comment or message of a file."""
    text = path.read_text(errors="replace")
    if kind == "pages":
        yield from paragraphs(text)
        return
    for match in TOKENS.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[0][0] == "/" and kind == "comments":
            words = re.sub(r"^/\*+|\*+/$|(?m:^[ \t]*(//|\*)[/!<]*)", "", match[0])
            yield line, re.sub(r"(?m)^ {3,}.*$|^ *[-*] ", "", words)  # drops rows of tables
        elif match[0][0] == '"' and kind == "messages" and not CODE.search(match[0]):
            yield line, re.sub(r"\\n", " ", match[0][1:-1])


def examine(path, kind, patterns):
    """Yields (line, sentence, reasons) for each sentence that readers have to read twice."""
    for line, text in blocks(path, kind):
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
        text = " ".join(re.sub(r"`[^`]*`", "X", re.sub(r"[*_]{2}", "", text)).split())
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z\"'(X])", text):
            count = len(sentence.split())
            if count < LEAST_WORDS or "Copyright" in sentence:
                continue
            reasons = [reason for reason, pattern in patterns if pattern.search(sentence)]
            if count > MOST_WORDS:
                reasons.append(f"more than {MOST_WORDS} words")
            if reasons:
                yield line, sentence, reasons


PLANTED = (
    ("What the kernel reads is checked before it runs.", "subject"),
    ("The loop goes on with what the last round left.", "'what'"),
    ("The bound is higher than that of the copy.", "'that of'"),
    ("Give a file, else the command reads standard input.", "'else'"),
    ("Prints the names of the files; nothing if there are none.", "verb or noun"),
    ("The function gets so many bytes from the caller.", "old or coined"),
    ("The name of it; the size of it; the kind of it.", "semicolons"),
    ("Reads the name (a text), the size (a number) and the kind (a word).", "parentheses"),
    ("The command compiles the kernel and runs it. It prints the time (in seconds).", None),
    ("One of the files belongs to the suite, and a test of its own reads it.", None))


def planted(patterns):
    """Tells whether each planted sentence has its reason, and each plain sentence has none."""
    bad = 0
    for text, want in PLANTED:
        for sentence in re.split(r"(?<=[.])\s+", text):
            reasons = [reason for reason, pattern in patterns if pattern.search(sentence)]
            if not (any(want in reason for reason in reasons) if want else not reasons):
                print(f"planted: \"{sentence}\": {reasons or 'nothing was found'}, wanted: {want or 'nothing'}")
                bad += 1
    print(f"{len(PLANTED)} planted texts: {bad or 'nothing'} wrong")
    return 1 if bad else 0


def files_of(source, globs, left_out):
    skipped = {path for glob in left_out for path in source.glob(glob)}
    return sorted({path for glob in globs for path in source.glob(glob) if path.is_file()} - skipped)


def show(source, path, kind, patterns):
    for line, sentence, reasons in examine(path, kind, patterns):
        print(f"{path.relative_to(source)}:{line}: {', '.join(reasons)}: {sentence}")


def check_budgets(source, budgets, left_out, patterns):
    bad = 0
    for group, (budget, kind, globs) in budgets.items():
        count = sum(1 for path in files_of(source, globs, left_out) for _ in examine(path, kind, patterns))
        print(f"{group}: {count} sentences to be read twice; the budget is {budget}")
        if count > budget:
            print(f"{group}: rewrite {count - budget} of them: words.py --sentences {source} {group} lists all")
            bad += 1
    return bad


def main():
    arguments = sys.argv[1:]
    files, left_out, phrases, budgets, patterns = read_list(pathlib.Path(__file__).with_name("words.txt"))
    if arguments == ["--planted"]:
        return planted(patterns)
    listed = arguments[0] == "--sentences"
    source = pathlib.Path(arguments[listed]).resolve()
    if listed:
        _, kind, globs = budgets[arguments[2]]
        for path in files_of(source, globs, left_out):
            show(source, path, kind, patterns)
        return 0
    paths = [pathlib.Path(name).resolve() for name in arguments[1:]]
    for path in paths:
        show(source, path, "pages" if path.suffix == ".md" else "comments", patterns)
    bad = 0
    if not paths:
        paths = files_of(source, files, left_out)
        bad = check_budgets(source, budgets, left_out, patterns)
    for path in paths:
        for line, found, instead in find(path, phrases):
            print(f"{path.relative_to(source)}:{line}: \"{found}\": write: {instead}")
            bad += 1
    print(f"{len(paths)} files, {len(phrases)} phrases: {bad or 'nothing'} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
