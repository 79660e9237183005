/* Reads the cases (README.md, "Cases"). */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

enum { AXES_MAX = 8, VALUES_MAX = 512 };
static const int every_arch[] = {75, 80, 90, 100};

/* Returns the words of a line, split at blanks, and their number in *count. */
static const char **words(kiln__arena *arena, const char *line, size_t length, size_t *count)
{
    const char **list = kiln__arena_alloc(arena, VALUES_MAX * sizeof *list);
    *count = 0;
    for (size_t at = 0; list && at < length && *count < VALUES_MAX;) {
        size_t word = strcspn(line + at, " \t\n");
        if (word > 0)
            list[(*count)++] = kiln__arena_strndup(arena, line + at, word);
        at += word + 1;
    }
    return list;
}

/* Reads a line of a case's head, without its "//! ". */
static bool directive(kiln__arena *arena, corpus_case *made, const char *line, size_t length)
{
    size_t count = 0;
    const char **list = words(arena, line, length, &count);
    if (!list || count == 0)
        return false;
    if (strcmp(list[0], "nvcc") == 0 && count == 1) {
        made->nvcc = true;
    } else if (strcmp(list[0], "every") == 0 && count == 1) {
        made->every = true;
    } else if (strcmp(list[0], "options") == 0) {
        made->options = list + 1;
        made->option_count = count - 1;
    } else if (strcmp(list[0], "arch") == 0 && count - 1 <= KILN__COUNT(made->archs)) {
        made->arch_count = count - 1;
        for (size_t i = 1; i < count; i++)
            made->archs[i - 1] = atoi(list[i]);
    } else if (count > 2 && strcmp(list[1], "=") == 0) {
        for (size_t i = 0; i < made->axis_count; i++)
            if (strcmp(made->axes[i].name, list[0]) == 0) { /* a second line for the same axis adds values */
                corpus_axis *axis = &made->axes[i];
                if (axis->count + count - 2 > VALUES_MAX)
                    return false;
                memcpy(axis->values + axis->count, list + 2, (count - 2) * sizeof *list);
                axis->count += count - 2;
                return true;
            }
        if (made->axis_count == AXES_MAX)
            return false;
        corpus_axis *axis = &made->axes[made->axis_count++];
        *axis = (corpus_axis){list[0], kiln__arena_alloc(arena, VALUES_MAX * sizeof *list), count - 2};
        if (!axis->values)
            return false;
        memcpy(axis->values, list + 2, (count - 2) * sizeof *list);
    } else {
        return false;
    }
    return true;
}

static bool read_case(kiln__arena *arena, const char *folder, const char *file, corpus_case *made, const char **error)
{
    char *text;
    size_t length;
    kiln_error *failure = NULL;
    *made = (corpus_case){.name = kiln__arena_strndup(arena, file, strlen(file) - 3),
                          .combinations = 1,
                          .axes = kiln__arena_alloc(arena, AXES_MAX * sizeof *made->axes)};
    if (kiln__file_read(arena->mem, kiln__arena_printf(arena, "%s/%s", folder, file), 0, &text, &length, &failure)) {
        *error = kiln__arena_strdup(arena, kiln_error_message(failure));
        kiln_error_free(failure);
        return false;
    }
    made->source = kiln__arena_strndup(arena, text, length);
    kiln__free(arena->mem, text);
    for (const char *line = made->source; line && strncmp(line, "//", 2) == 0; line = strchr(line, '\n') + 1) {
        size_t width = strcspn(line, "\n");
        if (strncmp(line, "//! ", 4) == 0 && !directive(arena, made, line + 4, width - 4)) {
            *error = kiln__arena_printf(arena, "%s: not understood: %.*s", file, (int)width, line);
            return false;
        }
        if (!line[width])
            break;
    }
    if (made->arch_count == 0) {
        made->arch_count = KILN__COUNT(every_arch);
        memcpy(made->archs, every_arch, sizeof every_arch);
    }
    for (size_t i = 0; i < made->axis_count; i++)
        made->combinations *= made->axes[i].count;
    return !arena->failed;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const corpus_case *)a)->name, ((const corpus_case *)b)->name);
}

bool corpus_read(kiln__arena *arena, const char *folder, corpus_case **cases, size_t *count, const char **error)
{
    enum { CASES_MAX = 512 };
    DIR *dir = opendir(folder);
    *count = 0;
    *cases = kiln__arena_alloc(arena, CASES_MAX * sizeof **cases);
    *error = "out of memory";
    if (!dir || !*cases) {
        *error = kiln__arena_printf(arena, "%s cannot be read", folder);
        if (dir)
            closedir(dir);
        return false;
    }
    bool ok = true;
    for (const struct dirent *entry; ok && *count < CASES_MAX && (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".cu") == 0)
            ok = read_case(arena, folder, entry->d_name, &(*cases)[(*count)++], error);
    }
    closedir(dir);
    qsort(*cases, *count, sizeof **cases, by_name);
    return ok;
}

size_t corpus_modules(const corpus_case *of) { return of->combinations * (of->every ? of->arch_count : 1); }

/* Returns the case's text with a #define of each value after its last #include, so that headers do not see the
 * macros. */
static const char *fill(kiln__arena *arena, const corpus_case *of, const char *defines)
{
    const char *after = of->source;
    unsigned lines = 1;
    for (const char *line = of->source, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
        if (strncmp(line, "#include", 8) == 0)
            after = end + 1;
    for (const char *c = of->source; c < after; c++)
        lines += *c == '\n';
    return kiln__arena_printf(arena, "%.*s%s#line %u\n%s", (int)(after - of->source), of->source, defines, lines,
                              after);
}

corpus_module *corpus_at(kiln__arena *arena, const corpus_case *of, size_t index)
{
    corpus_module *made = kiln__arena_alloc(arena, sizeof *made);
    kiln__text name = {.mem = arena->mem}, defines = {.mem = arena->mem};
    if (!made)
        return NULL;
    size_t rest = of->every ? index / of->arch_count : index;
    /* Architectures take turns, out of step with the axes. */
    size_t turn = of->every ? index : index + index / of->arch_count + index / 16;
    *made = (corpus_module){.of = of, .arch = of->archs[turn % of->arch_count]};
    kiln__text_puts(&name, of->name);
    for (size_t i = of->axis_count; i-- > 0;) {
        const corpus_axis *axis = &of->axes[i];
        const char *value = axis->values[rest % axis->count];
        rest /= axis->count;
        kiln__text_printf(&defines, "#define %s %s\n", axis->name, value);
        kiln__text_printf(&name, ".%s=%s", axis->name, value);
    }
    kiln__text_printf(&name, ".sm_%d", made->arch);
    made->name = kiln__arena_strdup(arena, kiln__text_get(&name));
    made->source = fill(arena, of, kiln__text_get(&defines));
    bool failed = arena->failed || name.failed || defines.failed;
    kiln__text_free(&name);
    kiln__text_free(&defines);
    return failed ? NULL : made;
}

const char **corpus_options(kiln__arena *arena, const char *cuda, const char *folder, const corpus_case *of,
                            size_t *count)
{
    /* Headers in the last three folders include files beside themselves. NVRTC searches only these folders. */
    static const char *const folders[] = {"/cccl", "", "/cooperative_groups", "/cooperative_groups/details", "/crt"};
    size_t own = of ? of->option_count : 0;
    const char **options = kiln__arena_alloc(arena, (own + KILN__COUNT(folders) + 3) * sizeof *options);
    *count = 0;
    if (!options)
        return NULL;
    options[(*count)++] = "--std=c++17";
    options[(*count)++] = "--device-as-default-execution-space";
    options[(*count)++] = kiln__arena_printf(arena, "-I%s", folder);
    for (size_t i = 0; i < KILN__COUNT(folders); i++)
        options[(*count)++] = kiln__arena_printf(arena, "-I%s%s", cuda, folders[i]);
    for (size_t i = 0; i < own; i++)
        options[(*count)++] = of->options[i];
    return arena->failed ? NULL : options;
}
