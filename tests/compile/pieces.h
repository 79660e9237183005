/* pieces.h - makes sources from bytes, out of pieces that confuse readers of #include: raw strings, digit
 * separators, comments, joined lines, trigraphs, directives. The fuzz target of the reader and the test of
 * confinement use it. */
#ifndef KILN_TESTS_PIECES_H
#define KILN_TESTS_PIECES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PIECES_INSIDE = 4, PIECES_OUTSIDE = 4 }; /* headers c0.h ... beside the source, o0.h ... in the folder outside */

/* In a piece, @ stands for a digit of a header's name and $ for the folder outside. */
// clang-format off: one word a line would be a hundred lines
static const char *const pieces[] = {
    "#include \"c@.h\"\n",
    "#include \"c@.h\"\n",
    "#include <c@.h>\n",
    "#include \"$/o@.h\"\n",
    "#include \"$/o@.h\"\n",
    "#include <$/o@.h>\n",
    "import \"$/o@.h\";\n",
    "import <$/o@.h>;\n",
    "export import \"$/o@.h\";\n",
    "#include_next \"c@.h\"\n",
    "#define M \"c@.h\"\n",
    "#define N \"$/o@.h\"\n",
    "#include M\n",
    "#include N\n",
    "import N;\n",
    "#include __FILE__\n",
    "#line 7 \"$/o@.h\"\n",
    "#if __has_include(\"$/o@.h\")\n",
    "#if __has_include(\"c@.h\")\n",
    "#embed \"$/o@.h\"\n",
    "\"c@.h\"",
    "<c@.h>",
    "\"$/o@.h\"",
    "#",
    "%:",
    "?\?=",
    "include",
    "inc",
    "lude",
    "imp",
    "ort",
    "import",
    "_next",
    "\n",
    "\n",
    "\n",
    " ",
    "\t",
    "\f",
    "\r\n",
    "\\\n",
    "\\\r\n",
    "?\?/\n",
    "?\?/\r\n",
    "\\ \n",
    "\\",
    "?\?/",
    "/*",
    "*/",
    "/**/",
    "//",
    "/",
    "*",
    "R\"x(",
    ")x\"",
    "R\"(",
    ")\"",
    "u8R\"x(",
    "LR\"y(",
    ")y\"",
    "\"",
    "'",
    "\\\"",
    "0'a",
    "1'000",
    "0x1'a",
    "u8'",
    ".5e+1'0",
    "int x@;\n",
    "#if 0\n",
    "#if 1\n",
    "#else\n",
    "#endif\n",
    "#define F(x) #x\n",
    "F(",
    ")",
    "#define R\n",
    "R",
    "#undef M\n",
    "_Pragma(\"once\")",
    "#pragma once\n",
    "#error e\n",
    ";",
    "{",
    "}",
    "\\u0023",
    "\xef\xbb\xbf",
    "\xc2\xa0",
    "%\\\n:",
    "#\\\n",
    "module;\n",
    "__has_include",
    "\r", /* from here on: characters that a lexer may take for the end of a line, for white space, or ignore */
    "\v",
    "\r\r\n",
    "\n\r",
    "\\\r\r\n",
    "?\?/\r\r\n",
    "\\\r",
    "\\\f",
    "\\\v",
    "\\\f\n",
    "\\\v\n",
    "\\\t\n",
    "\b",
    "\x1a",
    "\x1b",
    "\x1c",
    "\x1f",
    "\x7f",
    "\xc2\x85",
    "\x85",
    "\xa0",
    "\xe2\x80\xa8",
    "\xe2\x80\xa9",
    "\xe3\x80\x80",
    "\xe2\x80\x8b",
    "\xef\xbb\xbf\r",
    "//\r",
    "/*\r*/",
    "%:include \"c@.h\"\n",
    "?\?=include \"c@.h\"\n",
    "int x@;\r",
    "#include \"c@.h\"\r",
};
// clang-format on
static const char *const piece_standards[] = {"-std=c++03", "-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20"};

/* Fills `text`. The first byte chooses the standard, and each further byte a piece. Returns the option of the
 * standard. */
static const char *pieces_build(const uint8_t *data, size_t size, const char *outside, char *text, size_t room)
{
    const size_t count = sizeof pieces / sizeof *pieces, standards = sizeof piece_standards / sizeof *piece_standards;
    size_t length = 0;
    for (size_t i = 1; i < size; i++) {
        const char *piece = pieces[data[i] % count];
        if (length + strlen(piece) + strlen(outside) + 2 > room)
            break;
        for (; *piece; piece++) {
            if (*piece == '$')
                length += (size_t)snprintf(text + length, room - length, "%s", outside);
            else
                text[length++] = *piece == '@' ? (char)('0' + (data[i] / count + i) % PIECES_INSIDE) : *piece;
        }
    }
    text[length] = '\0';
    return piece_standards[(size ? data[0] : 0) % standards];
}

#endif
