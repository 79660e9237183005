/* Reads any bytes as a file that a program on the simulated device has written. If it is a profile, `kiln sim profile
 * FILE` shows it as text and as JSON. If it is a trace, the target joins it with another trace. The target requires
 * that nothing crashes, that the exit code tells whether the file was a profile, and that the JSON is valid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands.h"
#include "../../tools/kiln/commands/sim.h" /* the driver has another header of this name */

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

int kiln_main(int argc, char **argv); /* main() of tools/kiln/main.c */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_file(const char *name, char path[64])
{
    const int file = memfd_create(name, MFD_CLOEXEC);
    WANT(file >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

static char *whole(int file, size_t *length)
{
    const off_t end = lseek(file, 0, SEEK_END);
    WANT(end >= 0);
    char *text = malloc((size_t)end + 1);
    WANT(text && pread(file, text, (size_t)end, 0) == end);
    *length = (size_t)end;
    return text;
}

/* Runs the command with its output redirected to `to`. */
static int shown(char *path, bool json, int to)
{
    char name[] = "kiln", first[] = "sim", action[] = "profile", form[] = "--json";
    char *words[] = {name, first, action, path, json ? form : NULL, NULL};
    const int saved = dup(STDOUT_FILENO);
    WANT(saved >= 0 && dup2(to, STDOUT_FILENO) >= 0);
    const int code = kiln_main(json ? 5 : 4, words);
    WANT(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    return code;
}

static void show(char *path, bool json)
{
    char ignored[64];
    size_t length;
    const int to = memory_file("shown", ignored), code = shown(path, json, to);
    char *text = whole(to, &length);
    WANT(code == 0 ? length > 0 : length == 0);
    if (json && code == 0) {
        json_error_t why;
        json_t *parsed = json_loadb(text, length, JSON_ALLOW_NUL, &why);
        WANT(json_is_array(json_object_get(parsed, "processes")));
        json_decref(parsed);
    }
    free(text);
    close(to);
}

/* Checks that the joined trace has only lines of the two files. */
static void join(char *path)
{
    char ignored[64];
    size_t length;
    const char *twice[] = {path, path};
    const cli_list files = {.items = twice, .count = 2};
    const int to = memory_file("joined", ignored);
    WANT(sim_trace_join(&files, to));
    char *text = whole(to, &length);
    WANT(length >= 4 && memcmp(text, "[\n", 2) == 0 && memcmp(text + length - 2, "]\n", 2) == 0);
    free(text);
    close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    const int file = memory_file("profile", path);
    WANT(write(file, data, size) == (ssize_t)size);
    if (!getenv("KILN_FUZZ_SHOW")) {
        static FILE *quiet;
        quiet = quiet ? quiet : fopen("/dev/null", "w");
        WANT(quiet);
        stderr = quiet;
    }
    show(path, false);
    show(path, true);
    join(path);
    close(file);
    return 0;
}
