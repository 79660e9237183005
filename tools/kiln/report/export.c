/* export.c - writes every chart as a file. Vega draws the charts in Node.js, from the same specifications and data as
 * in the page. The program rsvg-convert of librsvg makes PNG files from them. Only these functions search the programs
 * node and rsvg-convert, so a report without chart files does not need them. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

#define LARGEST_OUTPUT (512u << 20) /* largest number of bytes of all charts together */

extern char **environ;

/* ---- runs a program, with files as its standard streams ---- */

/* Runs a program. Returns 0 if the program succeeded. Otherwise reports the reason, with `install` as the hint, and
 * returns the exit code. */
static int run_program(cli *c, const char *const *words, FILE *from, FILE *to, const char *install)
{
    FILE *complaints = tmpfile();
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 0, failed = complaints ? posix_spawn_file_actions_init(&actions) : errno;
    if (failed) {
        if (complaints)
            fclose(complaints);
        return cli_fail(c, KILN_ERROR_IO, "%s: %s", words[0], strerror(failed));
    }
    failed = posix_spawn_file_actions_adddup2(&actions, fileno(from), STDIN_FILENO);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(to), STDOUT_FILENO);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
    if (!failed)
        failed = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!failed && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            failed = errno;
    char said[400] = "";
    rewind(complaints);
    size_t length = fread(said, 1, sizeof said - 1, complaints);
    said[length] = '\0';
    fclose(complaints);
    if (failed)
        return failed == ENOENT ? cli_fail(c, KILN_ERROR_NOT_FOUND, "there is no program %s: %s", words[0], install)
                                : cli_fail(c, KILN_ERROR_IO, "%s: %s", words[0], strerror(failed));
    if (cli_interrupted())
        return cli_fail(c, KILN_ERROR_INTERRUPTED, "interrupted; not all charts were written");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return cli_fail(c, KILN_ERROR_IO, "%s failed: %s", words[0], *said ? said : "it printed no message");
    return 0;
}

/* Returns the bytes of a stream, followed by a zero byte. Returns NULL if the stream is too long, or if reading
 * fails. */
static char *whole_file(FILE *from, size_t *size)
{
    struct stat about;
    if (fflush(from) != 0 || fstat(fileno(from), &about) != 0 || about.st_size > (off_t)LARGEST_OUTPUT)
        return NULL;
    rewind(from);
    char *text = cli_alloc((size_t)about.st_size + 1);
    *size = fread(text, 1, (size_t)about.st_size, from);
    text[*size] = '\0';
    return text;
}

/* ---- SVG ---- */

/* Writes the program for Node.js, which consists of Vega's modules, the charts and their data. */
static void put_program(FILE *to, const json_t *data, const report_library *library)
{
    fputs("\"use strict\";\nconst kilnModules = {};\n", to);
    for (size_t i = 0; i < library->count; i++)
        fprintf(to, "kilnModules[\"%s\"] = function (exports, module, require) {\n%s\n};\n", library->names[i],
                library->texts[i]);
    fprintf(to, "const kilnData = %s;\nconst kilnSpecs = ", js_dump(data, JSON_COMPACT | JSON_REAL_PRECISION(6)));
    report_put_specs(to);
    fprintf(to, ";\n%s\n%s\n", report_file_text("charts.js"), report_file_text("export.js"));
}

/* Returns true for a name that contains only letters, digits, '-' and '_', like the names that export.js makes. */
static bool is_name(const char *name)
{
    return name && *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")];
}

static int put_png(cli *c, const char *svg, size_t size, const char *path)
{
    static const char *const words[] = {"rsvg-convert", "--unlimited", "--zoom=2", "--format=png", NULL};
    FILE *from = tmpfile(), *to = tmpfile();
    size_t length = 0;
    bool ready = from && to && fwrite(svg, 1, size, from) == size && fflush(from) == 0;
    if (ready)
        rewind(from);
    int code = ready ? run_program(c, words, from, to, REPORT_NEEDS_RSVG)
                     : cli_fail(c, KILN_ERROR_IO, "a temporary file: %s", strerror(errno));
    const char *png = code ? NULL : whole_file(to, &length);
    if (!code)
        code = png ? cli_write_file(c, path, png, length) : cli_fail(c, KILN_ERROR_IO, "%s: %s", path, strerror(errno));
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    return code;
}

static int put_chart(cli *c, const char *line, size_t length, const char *folder, bool png)
{
    void *mark = cli_mark();
    json_t *chart = json_loadb(line, length, 0, NULL);
    const char *file = json_string_value(json_object_get(chart, "file"));
    const char *svg = json_string_value(json_object_get(chart, "svg"));
    int code = 0;
    if (!is_name(file) || !svg)
        code = cli_fail(c, KILN_ERROR_IO, "node: its output is not a chart");
    else
        code = cli_write_file(c, cli_printf("%s/%s.svg", folder, file), svg, strlen(svg));
    if (!code && png)
        code = put_png(c, svg, strlen(svg), cli_printf("%s/%s.png", folder, file));
    json_decref(chart);
    cli_release(mark);
    return code;
}

/* Asks rsvg-convert for its version before the work begins, because this program may be missing. Returns 0 or the exit
 * code. */
static int find_rsvg(cli *c)
{
    static const char *const words[] = {"rsvg-convert", "--version", NULL};
    FILE *nothing = tmpfile(), *version = tmpfile();
    int code = nothing && version ? run_program(c, words, nothing, version, REPORT_NEEDS_RSVG)
                                  : cli_fail(c, KILN_ERROR_IO, "a temporary file: %s", strerror(errno));
    if (nothing)
        fclose(nothing);
    if (version)
        fclose(version);
    return code;
}

static int draw(cli *c, const report *r, const report_library *library, FILE *program, FILE *drawn)
{
    static const char *const words[] = {"node", "-", NULL};
    report compared = *r;
    report_compare(&compared, r->problem_count);
    json_t *data = report_json(&compared, 1);
    put_program(program, data, library);
    json_decref(data);
    if (fflush(program) != 0 || ferror(program))
        return cli_fail(c, KILN_ERROR_IO, "a temporary file: %s", strerror(errno));
    rewind(program);
    return run_program(c, words, program, drawn,
                       "Node.js draws the charts that go to files; run 'apt-get install nodejs' (Debian, Ubuntu), or "
                       "save them in the page, which needs no program but the browser");
}

int report_charts(cli *c, const report *r, const report_library *library, const char *folder, bool png, size_t *count)
{
    int code = report_make_folder(c, folder);
    if (!code && png)
        code = find_rsvg(c);
    if (code)
        return code;
    FILE *program = tmpfile(), *drawn = tmpfile();
    size_t size = 0;
    char *text = NULL;
    code = program && drawn ? draw(c, r, library, program, drawn)
                            : cli_fail(c, KILN_ERROR_IO, "a temporary file: %s", strerror(errno));
    if (!code && !(text = whole_file(drawn, &size)))
        code = cli_fail(c, KILN_ERROR_IO, "the output of node cannot be read, or is larger than %s",
                        cli_bytes(LARGEST_OUTPUT));
    for (char *at = text; !code && *at; ++*count) {
        size_t length = strcspn(at, "\n");
        code = put_chart(c, at, length, folder, png);
        at += length + (at[length] == '\n');
        if (!code && cli_interrupted())
            code = cli_fail(c, KILN_ERROR_INTERRUPTED, "interrupted; not all charts were written");
    }
    if (program)
        fclose(program);
    if (drawn)
        fclose(drawn);
    return code;
}
