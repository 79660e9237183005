/* Compares the files that NVRTC opens with the files that the reader of includes found. The source consists of
 * pieces that different tokenisers read differently. Unless the reader refuses the source, NVRTC gets it with the
 * headers that the reader found. NVRTC may then neither miss a header beside the source nor open one outside.
 * Without NVRTC, a plain search of the lines takes its place, and the target prints this once. */
#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../compile/pieces.h"
#include "compile_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s\n---- the source, %s ----\n%s\n----\n", #condition, standard, text);                   \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static char folder[64], inside[96], outside[96], source[128];
static kiln__nvrtc *nvrtc;
static int watch = -1;

static void remove_all(void)
{
    char path[160];
    for (int i = 0; i < PIECES_INSIDE; i++) {
        snprintf(path, sizeof path, "%s/c%d.h", inside, i);
        unlink(path);
        snprintf(path, sizeof path, "%s/o%d.h", outside, i);
        unlink(path);
    }
    rmdir(inside);
    rmdir(outside);
    rmdir(folder);
}

static void set_up(void)
{
    char path[160], text[64];
    strcpy(folder, "/tmp/kiln-fuzz-includes-XXXXXX");
    if (!mkdtemp(folder))
        abort();
    snprintf(inside, sizeof inside, "%s/in", folder);
    snprintf(outside, sizeof outside, "%s/out", folder);
    snprintf(source, sizeof source, "%s/x.cu", inside);
    if (mkdir(inside, 0700) != 0 || mkdir(outside, 0700) != 0)
        abort();
    for (int i = 0; i < PIECES_INSIDE; i++) {
        snprintf(path, sizeof path, "%s/c%d.h", inside, i);
        snprintf(text, sizeof text, "int in_%d;\n", i);
        kiln_status status = kiln__file_write(NULL, path, text, strlen(text), NULL);
        snprintf(path, sizeof path, "%s/o%d.h", outside, i);
        if (status != KILN_OK || kiln__file_write(NULL, path, text, strlen(text), NULL) != KILN_OK)
            abort();
    }
    atexit(remove_all);
    kiln_error *error = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc, &error) != KILN_OK)
        fprintf(stderr, "no NVRTC: the reader is compared with a plain look at the lines only\n");
    kiln_error_free(error);
    watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch >= 0 && inotify_add_watch(watch, outside, IN_OPEN) < 0) {
        close(watch);
        watch = -1;
    }
    if (watch < 0) /* the processes of a user share a small number of watches (fs.inotify.max_user_instances) */
        fprintf(stderr, "no inotify (%s): what NVRTC opens outside is not seen\n", strerror(errno));
}

static bool was_opened(void)
{
    _Alignas(struct inotify_event) char events[4096];
    ssize_t got = watch < 0 ? 0 : read(watch, events, sizeof events);
    bool opened = false;
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const struct inotify_event *)(events + at);
        opened = opened || !(event->mask & IN_ISDIR); /* any process may list the folder */
        at += (ssize_t)(sizeof *event + event->len);
    }
    return opened;
}

static bool found(const kiln__include *list, size_t count, int digit)
{
    char name[8];
    snprintf(name, sizeof name, "c%d.h", digit);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

/* Returns NVRTC's log of the source with these headers. The caller frees it. */
static char *compile(const char *text, const char *standard, const kiln__include *list, size_t count)
{
    const char *names[PIECES_INSIDE], *texts[PIECES_INSIDE];
    const char *options[] = {"--gpu-architecture=compute_90", standard, "--no-source-include", "-minimal"};
    for (size_t i = 0; i < count && i < PIECES_INSIDE; i++) {
        names[i] = list[i].name;
        texts[i] = list[i].text;
    }
    nvrtcProgram program = NULL;
    size_t length = 0;
    char *whole = malloc(strlen(text) + 32);
    if (!whole)
        return NULL;
    /* The text ends with an error. Otherwise NVRTC would spend most of the time on making code. */
    sprintf(whole, "%s\n#error the end\n", text);
    nvrtcResult made = nvrtc->nvrtcCreateProgram(&program, whole, "x.cu", (int)count, texts, names);
    free(whole);
    if (made != NVRTC_SUCCESS)
        return NULL;
    nvrtc->nvrtcCompileProgram(program, 4, options);
    nvrtc->nvrtcGetProgramLogSize(program, &length);
    char *log = calloc(1, length + 1);
    if (log)
        nvrtc->nvrtcGetProgramLog(program, log);
    nvrtc->nvrtcDestroyProgram(&program);
    return log;
}

/* Finds includes without a tokeniser: a line that consists only of #include "c0.h", with no line joint before it. */
static bool plainly_includes(const char *text, int digit)
{
    char line[32];
    size_t length = (size_t)snprintf(line, sizeof line, "#include \"c%d.h\"\n", digit);
    for (const char *at = text; (at = strstr(at, line)) != NULL; at += length)
        if (at == text || at[-1] == '\n')
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[8192];
    if (!*folder)
        set_up();
    const char *standard = pieces_build(data, size, outside, text, sizeof text);
    const char *folders[] = {inside};
    kiln__arena arena = {0};
    const kiln__include_paths where = {.folders = folders, .folder_count = 1, .allowed = folders, .allowed_count = 1};
    kiln__includes includes = {0};
    kiln_error *error = NULL;
    kiln_status status = kiln__includes_collect(NULL, &arena, source, text, &where, &includes, &error);
    const kiln__include *list = includes.items;
    size_t count = includes.count;
    WANT(status == KILN_OK || (status == KILN_ERROR_REFUSED && *kiln_error_message(error)));
    WANT(count <= PIECES_INSIDE);
    for (int i = 0; status == KILN_OK && i < PIECES_INSIDE; i++)
        WANT(!plainly_includes(text, i) || found(list, count, i));
    if (status == KILN_OK && nvrtc && size > 1) {
        was_opened(); /* drops the earlier events */
        char *log = compile(includes.source, standard, list, count);
        WANT(log && !was_opened());
        for (int i = 0; i < PIECES_INSIDE; i++) {
            char missing[64];
            snprintf(missing, sizeof missing, "open source file \"c%d.h\"",
                     i); /* the message says "cannot" if there are folders, and "could not" otherwise */
            WANT(!strstr(log, missing) || found(list, count, i));
        }
        free(log);
    }
    kiln_error_free(error);
    kiln__arena_free(&arena);
    return 0;
}
