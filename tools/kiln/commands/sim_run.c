/* sim_run.c - kiln sim run and kiln sim env: a program, or a shell, whose CUDA libraries are the simulated device's. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "program.h"
#include "sim.h"

enum { NOT_STARTED = 125, NOT_FOUND = 127 }; /* as env(1) and shells have them */

/* The folder with libcuda.so.1, beside this command in the build tree or where it is installed. */
static const char *library_folder(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    const char *places[] = {cli_printf("%s/../lib/kiln", self), cli_printf("%s/../" KILN_LIBDIR "/kiln", self),
                            KILN_FULL_LIBDIR "/kiln"};
    for (size_t i = 0; i < CLI_COUNT(places); i++) {
        char *real = realpath(places[i], NULL);
        const char *folder = real ? cli_printf("%s", real) : NULL;
        free(real);
        if (folder && access(cli_printf("%s/libcuda.so.1", folder), R_OK) == 0)
            return folder;
    }
    return NULL;
}

static const char *in_front(const char *folder, const char *variable)
{
    const char *before = getenv(variable);
    return before && *before ? cli_printf("%s:%s", folder, before) : folder;
}

typedef struct setting {
    const char *name, *value;
} setting;
enum { SETTINGS_MOST = 6 };

static size_t settings(const cli *c, const char *folder, setting *to)
{
    size_t count = 0;
    to[count++] = (setting){"LD_LIBRARY_PATH", in_front(folder, "LD_LIBRARY_PATH")};
    to[count++] = (setting){"PATH", in_front(cli_printf("%s/bin", folder), "PATH")};
    if (c->args.device)
        to[count++] = (setting){"KILN_SIM_DEVICE", c->args.device};
    if (c->args.devices)
        to[count++] = (setting){"KILN_SIM_DEVICES", cli_printf("%u", (unsigned)c->args.devices)};
    if (c->args.check)
        to[count++] = (setting){"KILN_SIM_CHECK", "1"};
    if (c->args.check && !getenv("KILN_SIM_CHECK_EXIT")) /* as of `kiln check` */
        to[count++] = (setting){"KILN_SIM_CHECK_EXIT", "1"};
    return count;
}

static int no_libraries(void)
{
    fprintf(stderr, "kiln sim: there is no libcuda.so.1 beside this command: Kiln was built or installed without the "
                    "simulated device's libraries (package kiln-sim)\n");
    return NOT_STARTED;
}

/* In quotes of a shell. */
static const char *quoted(const char *value)
{
    char *to = cli_alloc(4 * strlen(value) + 3), *at = to;
    *at++ = '\'';
    for (; *value; value++)
        if (*value == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *value;
        }
    *at++ = '\'';
    *at = '\0';
    return to;
}

int sim_env(const cli *c)
{
    setting all[SETTINGS_MOST];
    const char *folder = library_folder();
    if (!folder)
        return no_libraries();
    size_t count = settings(c, folder, all);
    for (size_t i = 0; i < count; i++)
        out_printf("export %s=%s\n", all[i].name, quoted(all[i].value));
    return 0;
}

/* ---- the program ---- */

/* As a shell finds it; NULL: nowhere. */
static const char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return name;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t length = strcspn(at, ":");
        const char *whole = length ? cli_printf("%.*s/%s", (int)length, at, name) : cli_printf("./%s", name);
        if (access(whole, X_OK) == 0)
            return whole;
        at += length + (at[length] == ':');
    }
    return NULL;
}

static bool read_program(const char *path, program *p)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
        fprintf(stderr, "kiln sim run: %s: %s\n", path, file < 0 ? strerror(errno) : "is no file");
        if (file >= 0)
            close(file);
        return false;
    }
    void *bytes = info.st_size > 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    program_read(p, bytes == MAP_FAILED ? "" : bytes, bytes == MAP_FAILED ? 0 : (size_t)info.st_size);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)info.st_size);
    return true;
}

/* Why it cannot run, with what to do; NULL: it can. */
static const char *hindrance(const program *p, const char *folder)
{
    if (p->kind == PROGRAM_DAMAGED || p->kind == PROGRAM_FOREIGN)
        return p->wrong;
    if (p->kind == PROGRAM_NVIDIA)
        return cli_printf("NVIDIA's static CUDA runtime is inside, which runs on NVIDIA's driver alone. Link it again "
                          "with `-cudart shared`, or with Kiln's static runtime: `-L%s`",
                          folder);
    if (p->kind == PROGRAM_SHARED && strcmp(p->runtime, "libcudart.so.12") != 0 &&
        strcmp(p->runtime, "libcudart.so.13") != 0)
        return cli_printf("it needs %s; Kiln has libcudart.so.12 and libcudart.so.13. Build it with CUDA 12 or 13",
                          p->runtime);
    if (p->binaries > 0 && p->ptx == 0)
        return "its kernels are machine code alone, and the simulated device runs PTX. Compile it with PTX inside: nvcc "
               "-arch=sm_80, or -gencode arch=compute_80,code=compute_80";
    if (p->is_static && p->kind != PROGRAM_OTHER)
        return "it is linked statically, so no other libcuda can be put in its place. Link it dynamically";
    return NULL;
}

static const char *described(const program *p)
{
    switch (p->kind) {
    case PROGRAM_SHARED: return cli_printf("CUDA runtime, %s", p->runtime);
    case PROGRAM_KILN: return "CUDA runtime, Kiln's, inside";
    case PROGRAM_DRIVER: return "CUDA driver API";
    case PROGRAM_PLAIN: return "no CUDA in the program itself";
    default: return "no ELF program";
    }
}

int sim_run_program(const cli *c)
{
    const cli_list *words = &c->args.words;
    setting all[SETTINGS_MOST];
    program p;
    const char *folder = library_folder();
    if (!folder)
        return no_libraries();
    size_t count = settings(c, folder, all);
    for (size_t i = 0; i < count; i++)
        setenv(all[i].name, all[i].value, 1);
    const char *path = find_program(words->items[1]);
    if (!path) {
        fprintf(stderr, "kiln sim run: %s: there is no such program in $PATH\n", words->items[1]);
        return NOT_FOUND;
    }
    if (!read_program(path, &p))
        return NOT_FOUND;
    const char *why = hindrance(&p, folder);
    if (why) {
        fprintf(stderr, "kiln sim run: %s cannot run on the simulated device: %s.\n", path, why);
        return NOT_STARTED;
    }
    if (p.has_rpath && p.kind == PROGRAM_SHARED) /* which the loader prefers to LD_LIBRARY_PATH */
        setenv("LD_PRELOAD", cli_printf("%s/libcuda.so.1:%s/%s", folder, folder, p.runtime), 1);
    if (!c->args.quiet)
        fprintf(stderr, "kiln sim run: %s: %s%s; device %s\n", path, described(&p), p.ptx ? ", kernels with PTX" : "",
                c->args.device ? c->args.device : "generic");
    char **arguments = cli_alloc((words->count + 1) * sizeof *arguments);
    for (size_t i = 1; i < words->count; i++)
        arguments[i - 1] = cli_printf("%s", words->items[i]);
    fflush(NULL);
    execv(path, arguments);
    fprintf(stderr, "kiln sim run: %s: %s\n", path, strerror(errno));
    return errno == ENOENT ? NOT_FOUND : NOT_STARTED;
}
