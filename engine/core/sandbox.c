/* sandbox.c - takes access rights from the process that runs kernels of a simulated device (KILN_SANDBOX). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confine.h"
#include "core_internal.h"

typedef struct path_list {
    kiln__arena arena;
    const char **paths;
    size_t count, capacity;
} path_list;

static void add(path_list *list, const char *path)
{
    if (!path || !*path)
        return;
    if (!kiln__grow(list->arena.mem, &list->paths, &list->capacity, list->count + 1, sizeof *list->paths))
        list->arena.failed = true;
    else
        list->paths[list->count++] = path;
}

/* Adds the folders in a text that has the format of LD_LIBRARY_PATH. */
static void add_folders(path_list *list, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, ":");
        add(list, length ? kiln__arena_strndup(&list->arena, text, length) : NULL);
        text += length + (text[length] == ':');
    }
}

/* Adds a folder of sources, the folder `kernel_src` inside it, and the folder `kernel_src` beside it. */
static void add_sources(path_list *list, const char *folder)
{
    add(list, folder);
    add(list, kiln__arena_printf(&list->arena, "%s/kernel_src", folder));
    add(list, kiln__arena_printf(&list->arena, "%s/../kernel_src", folder));
}

static void add_folder_of(path_list *list, const char *path)
{
    char *full = path && *path ? realpath(path, NULL) : NULL;
    add(list, full ? kiln__arena_folder(&list->arena, full) : NULL);
    free(full);
}

/* The system tells every process about its processors and memory in these files. */
static const char *const system_files[] = {"/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
                                           "/sys/fs/cgroup",          "/etc/localtime"};
/* The process loads LLVM and its libraries from these places when it finds that a kernel is hot. Loading LLVM earlier
 * would take longer than most runs. */
static const char *const libraries[] = {"/etc/ld.so.cache", "/lib",       "/lib64",
                                        "/usr/lib",         "/usr/lib64", "/usr/local/lib"};

static bool is_compiled(const kiln_spec *spec)
{
    for (size_t i = 0; i < spec->verify_count; i++)
        if (spec->verify[i].against == KILN__AGAINST_VARIANT)
            return true;
    return false;
}

/* Lists the files and folders that the process may read after it gave up its rights. These are the files that a spec
 * may name, the input files of the options, the files that the simulated device reads, and the compiler's files. */
static void list_readable(kiln_engine *engine, const kiln_spec *spec, const kiln__sandbox *want, bool executes,
                          path_list *list)
{
    if (engine->flags & KILN_READ_ANYWHERE)
        add(list, "/");
    if (spec->folder && *spec->folder)
        add_sources(list, spec->folder);
    for (size_t i = 0; i < engine->search_count; i++)
        add_sources(list, engine->search_path[i]);
    for (size_t i = 0; i < engine->include_count; i++)
        add(list, engine->include_path[i]);
    for (size_t i = 0; i < want->file_count; i++)
        add(list, want->files[i].path);
    for (size_t i = 0; i < KILN__COUNT(system_files); i++)
        add(list, system_files[i]);
    add(list, engine->references_dir);
    for (size_t i = 0; executes && i < KILN__COUNT(libraries); i++)
        add(list, libraries[i]);
    if (executes) {
        add_folders(list, getenv("LD_LIBRARY_PATH"));
        const char *program = kiln__executable_folder(&list->arena);
        add(list, kiln__library_folder(&list->arena));
        if (program) /* the program may belong to an environment that has its own libraries, such as conda */
            add(list, kiln__arena_printf(&list->arena, "%s/../lib", program));
    }
    /* In this process, a study compiles again, and so does a reference that is a variant. */
    if (engine->nvrtc || (is_compiled(spec) && kiln__engine_nvrtc(engine, NULL) == KILN_OK)) {
        add_folder_of(list, kiln__nvrtc_path(engine->nvrtc));
        add(list, kiln__nvrtc_include(engine->nvrtc));
    }
}

/* Returns true if the spec has a command as a reference and the user allowed commands. Such a command has all rights of
 * the user. So a sandbox would not protect the user from this spec, and the command could not run inside a sandbox. */
static bool runs_commands(const kiln_engine *engine, const kiln_spec *spec)
{
    for (size_t i = 0; i < spec->verify_count; i++)
        if (spec->verify[i].against == KILN__AGAINST_COMMAND)
            return engine->flags & KILN_ALLOW_COMMANDS;
    return false;
}

static kiln_status refuse(kiln_engine *engine, const char *why, kiln_error **error)
{
    return kiln__fail(engine->mem, error, KILN_ERROR_UNSUPPORTED,
                      "the kernels have to run in a sandbox (KILN_SANDBOX_REQUIRED), which is not possible: %s", why);
}

bool kiln__sandbox_wanted(const kiln_engine *engine)
{
    return engine->driver.simulator && engine->flags & (KILN_SANDBOX | KILN_SANDBOX_REQUIRED) && !engine->sandboxed;
}

bool kiln__sandbox_possible(const kiln_engine *engine, const kiln_spec *spec, const char **why)
{
    *why = KILN__SANITIZED               ? "this build has sanitizers, and the sandbox would refuse their system calls"
           : runs_commands(engine, spec) ? "the spec runs commands: you allowed them, and they have all your rights"
                                         : NULL;
    return !*why;
}

void kiln__sandbox_tell(const kiln__log *log, unsigned got, const char *how)
{
    if (KILN__SANITIZED)
        how = "a build with sanitizers has no sandbox";
    if (!(got & KILN__CONFINED_CALLS))
        kiln__logf(log, KILN_LOG_WARNING,
                   "kernels run without a sandbox (%s): a kernel that finds a flaw of the simulated device has your "
                   "rights; see kiln doctor",
                   how);
    else if (!(got & KILN__CONFINED_FILES))
        kiln__logf(log, KILN_LOG_WARNING,
                   "kernels run in a sandbox that can read your files (%s): a kernel that finds a flaw of the "
                   "simulated device could read them; see kiln doctor",
                   how);
    else
        kiln__logf(log, KILN_LOG_DEBUG, "kernels run in a sandbox: %s", how);
}

kiln_status kiln__engine_sandbox(kiln_engine *engine, const kiln_spec *spec, const kiln__sandbox *want,
                                 kiln_error **error)
{
    const char *why, *jit = getenv("KILN_SIM_JIT");
    bool required = engine->flags & KILN_SANDBOX_REQUIRED;
    if (!kiln__sandbox_wanted(engine))
        return KILN_OK;
    if (!kiln__sandbox_possible(engine, spec, &why)) {
        if (required)
            return refuse(engine, why, error);
        kiln__logf(&engine->log, KILN_LOG_INFO, "kernels run without a sandbox: %s", why);
        engine->sandboxed = true;
        return KILN_OK;
    }
    if (engine->finish_left) /* the compiler runs these jobs, so they must be finished before the compiler is closed */
        engine->finish_left(engine);
    /* Ends the compiler's threads and workers. A thread that is older than the sandbox would keep the right to open
     * files. The process could not end workers from inside the sandbox. */
    if (engine->compiler)
        kiln__compiler_close(engine->compiler);
    engine->compiler = NULL;
    engine->worker = NULL;
    engine->flags |= KILN_NO_WORKERS;
    /* opens the cache of references before the process loses the right to open files */
    kiln__cache *references = kiln__engine_references(engine);
    if (references)
        kiln__cache_stop_writing(references);
    else
        engine->references_dir = NULL;
    if (engine->cache)
        kiln__cache_close(engine->cache);
    engine->cache = NULL;
    engine->cache_dir = NULL;
    engine->cache_open = false;
    path_list list = {.arena.mem = engine->mem};
    bool executes = is_compiled(spec) || !jit || strcmp(jit, "0") != 0;
    list_readable(engine, spec, want, executes, &list);
    kiln_status status = KILN_OK;
    char how[256] = "";
    if (list.arena.failed) {
        status = kiln__fail_memory(error);
    } else {
        const unsigned got = kiln__confine(&(kiln__confinement){.readable = list.paths,
                                                                .count = list.count,
                                                                .writable = want->writable,
                                                                .kernels = true,
                                                                .executes = executes},
                                           how, sizeof how);
        engine->sandboxed = true;
        engine->confined = got == (KILN__CONFINED_FILES | KILN__CONFINED_CALLS);
        if (!engine->confined && required)
            status = refuse(engine, how, error);
        else if (want->got) /* the caller reports which mechanisms are missing */
            *want->got = got;
        else
            kiln__sandbox_tell(&engine->log, got, how);
        if (want->how)
            snprintf(want->how, want->room, "%s", how);
    }
    kiln__free(engine->mem, list.paths);
    kiln__arena_free(&list.arena);
    return status;
}
