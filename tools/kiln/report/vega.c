/* vega.c - finds Vega, the charting library, and reads the modules that the page needs.
 *
 * The package libjs-vega of Debian and Ubuntu has the modules of Vega. Each module begins with lines such as
 * require("vega-util"), which name other modules that it needs. The reading begins with the few modules that charts
 * need, and follows these lines. In this way about half of Vega is read. Newer packages have only a single file,
 * vega.min.js, which is used if there are no modules. The page loads modules and the single file in the same way, as
 * modules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report.h"

#define LARGEST (16u << 20) /* largest number of bytes of a file; the whole of Vega has half a million */

static const char *const folders[] = {
    "/usr/share/javascript/vega",       "/usr/share/nodejs/vega/build",           "/usr/local/share/javascript/vega",
    "/usr/lib/node_modules/vega/build", "/usr/local/lib/node_modules/vega/build",
};
/* The modules that charts need, with which the reading begins. The rest of Vega draws trees, maps, forces and word
 * clouds. */
static const char *const roots[] = {
    "vega-util",   "vega-dataflow", "vega-transforms", "vega-view-transforms",
    "vega-encode", "vega-scale",    "vega-parser",     "vega-view",
};

static const char *read_text(const char *path) { return cli_read_file(path, LARGEST, NULL); }

static void add(report_library *library, const char *name, const char *text)
{
    const char **names = cli_alloc((library->count + 1) * sizeof *names);
    const char **texts = cli_alloc((library->count + 1) * sizeof *texts);
    for (size_t i = 0; i < library->count; i++) {
        names[i] = library->names[i];
        texts[i] = library->texts[i];
    }
    names[library->count] = name;
    texts[library->count] = text;
    library->names = names;
    library->texts = texts;
    library->count++;
}

static bool has_library(const report_library *library, const char *name)
{
    for (size_t i = 0; i < library->count; i++)
        if (strcmp(library->names[i], name) == 0)
            return true;
    return false;
}

/* Reads a module, and then the modules that it requires. Returns NULL, or the name of a module that is missing. */
static const char *add_module(report_library *library, const char *name)
{
    static const char word[] = "require(\"";
    if (strcmp(name, "vega-selections") == 0)
        /* other modules require this module by the first name, but its file has the second name */
        name = "vega-selection";
    if (has_library(library, name))
        return NULL;
    const char *text = strchr(name, '/') ? NULL : read_text(cli_printf("%s/%s.min.js", library->folder, name));
    if (!text)
        return name;
    add(library, name, text);
    for (const char *at = text; (at = strstr(at, word));) {
        at += strlen(word);
        const char *missing = add_module(library, cli_strndup(at, strcspn(at, "\"")));
        if (missing)
            return missing;
    }
    return NULL;
}

/* Reads Vega from a folder. Returns NULL, or the name of a part that is missing. */
static const char *read_folder(report_library *library, const char *folder)
{
    library->folder = folder;
    const char *missing = NULL;
    for (size_t i = 0; !missing && i < CLI_COUNT(roots); i++)
        missing = add_module(library, roots[i]);
    if (missing) {
        const char *whole = read_text(cli_printf("%s/vega.min.js", folder));
        library->count = 0;
        if (!whole)
            return missing;
        add(library, "vega", whole);
    }
    library->interprets = !add_module(library, "vega-interpreter");
    library->licence = read_text(cli_printf("%s/../../doc/libjs-vega/copyright", folder));
    return NULL;
}

/* Finds Vega in the path of --vega or $KILN_VEGA, or in the usual folders, and reads it. The path is a folder of
 * modules or a single file. Returns 0, or the exit code after a message. */
int report_load_library(cli *c, const char *named, report_library *library)
{
    const char *by = "--vega";
    if (!named) {
        named = getenv("KILN_VEGA");
        by = "$KILN_VEGA";
    }
    struct stat about;
    *library = (report_library){0};
    if (!named || !*named) {
        for (size_t i = 0; i < CLI_COUNT(folders); i++)
            if (!read_folder(library, folders[i]))
                return 0;
        return cli_fail(
            c, KILN_ERROR_NOT_FOUND,
            "Vega, which draws the charts, is not installed: run 'apt-get install libjs-vega' (Debian, Ubuntu), "
            "or name its folder or its vega.min.js by --vega or $KILN_VEGA");
    }
    if (stat(named, &about) != 0)
        return cli_fail(c, KILN_ERROR_NOT_FOUND, "%s: %s: %s", by, named, strerror(errno));
    if (S_ISDIR(about.st_mode)) {
        const char *missing = read_folder(library, named);
        return missing ? cli_fail(c, KILN_ERROR_NOT_FOUND, "%s: %s has neither vega.min.js nor %s.min.js", by, named,
                                  missing)
                       : 0;
    }
    if (!S_ISREG(about.st_mode))
        return cli_fail(c, KILN_ERROR_IO, "%s: %s: is neither a folder nor a regular file", by, named);
    const char *text = read_text(named);
    if (!text)
        return cli_fail(c, KILN_ERROR_IO, "%s: %s: %s", by, named, strerror(errno));
    add(library, "vega", text);
    return 0;
}
