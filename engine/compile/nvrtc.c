/* nvrtc.c - finds libnvrtc and the CUDA headers, loads the library, and computes its identity for cache keys. If the
 * names of the files tell the version, the library is loaded later. Loading takes half of the time of a command whose
 * kernels are all cached. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compile_internal.h"

/* Increment this when the options that the engine adds change the compiled code. */
#define OPTION_SET "1"

/* The file names of the library to try, the newest first. */
static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};

/* The state of a search for the library. */
typedef struct search {
    kiln__nvrtc *nvrtc;
    bool later;       /* the library may be loaded later if the names of its files tell the version */
    kiln__text tried; /* list of the files that failed, for the message if no library is found */
    kiln__arena arena;
} search;

/* ---- the folder of the headers ---- */

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool has_headers(kiln__arena *arena, const char *folder)
{
    char *probe = kiln__arena_printf(arena, "%s/cuda_fp16.h", folder);
    return probe && is_file(probe);
}

/* Searches the folder of CUDA's headers: near the library's file, and in the toolkits to which the library may
 * belong. */
static const char *find_include(kiln__nvrtc *nvrtc, kiln__arena *arena)
{
    const char *forced = getenv("KILN_CUDA_INCLUDE");
    if (forced && *forced)
        return forced;
    char *beside = kiln__arena_folder(arena, nvrtc->path);
    const char *home = getenv("CUDA_HOME");
    const char *candidates[] = {
        beside ? kiln__arena_printf(arena, "%s/../include", beside) : NULL,
        beside ? kiln__arena_printf(arena, "%s/../../../include", beside) : NULL,           /* targets/ARCH/lib */
        beside ? kiln__arena_printf(arena, "%s/../../cuda_runtime/include", beside) : NULL, /* the wheels for CUDA 12 */
#ifdef KILN_CUDA_ROOT
        /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one string that consists of two literals */
        KILN_CUDA_ROOT "/include",
#endif
        home && *home ? kiln__arena_printf(arena, "%s/include", home) : NULL, "/usr/local/cuda/include",
        "/usr/lib/cuda/include", "/usr/include", /* Debian's package of the toolkit */
    };
    for (size_t i = 0; i < KILN__COUNT(candidates); i++)
        if (candidates[i] && has_headers(arena, candidates[i])) {
            char *full = realpath(candidates[i], NULL);
            const char *kept = full ? kiln__arena_strdup(arena, full) : NULL;
            free(full);
            return kept;
        }
    return "";
}

const char *kiln__device_runtime(const kiln__nvrtc *nvrtc, kiln__arena *arena)
{
    static const char name[] = "libcudadevrt.a";
    const char *beside = nvrtc ? kiln__arena_folder(arena, nvrtc->path) : NULL, *home = getenv("CUDA_HOME");
    home = home && *home ? home : "/usr/local/cuda";
    const char *candidates[] = {
        beside ? kiln__arena_printf(arena, "%s/%s", beside, name) : NULL,
#ifdef KILN_CUDA_ROOT
        kiln__arena_printf(arena, "%s/lib/%s", KILN_CUDA_ROOT, name),
#endif
        kiln__arena_printf(arena, "%s/lib64/%s", home, name),
        kiln__arena_printf(arena, "%s/lib/%s", home, name),
#if defined(__x86_64__)
        kiln__arena_printf(arena, "/usr/lib/x86_64-linux-gnu/%s", name), /* Debian's package of the toolkit */
#endif
    };
    for (size_t i = 0; i < KILN__COUNT(candidates); i++)
        if (candidates[i] && is_file(candidates[i]))
            return candidates[i];
    return NULL;
}

/* ---- one candidate ---- */

static const char *find_builtins(kiln__nvrtc *nvrtc, kiln__arena *arena)
{
    char *folder = kiln__arena_folder(arena, nvrtc->path);
    char *beside = folder ? kiln__arena_printf(arena, "%s/libnvrtc-builtins.so.%d.%d", folder, nvrtc->version / 1000,
                                               nvrtc->version % 1000 / 10)
                          : NULL;
    return beside && is_file(beside) ? beside : NULL;
}

/* Loads libnvrtc-builtins from the folder of NVRTC's library, or if it is not there, by its file name. At its first
 * compile NVRTC loads the builtins by their file name alone. If the loader does not find the builtins, NVRTC only
 * reports "builtin operation failure". Python wheels put the builtins beside libnvrtc, where the loader does not look.
 * If the builtins are loaded already, NVRTC finds them. */
static bool check_builtins(search *found, kiln__nvrtc *nvrtc)
{
    const char *beside = find_builtins(nvrtc, &found->arena);
    char *name = kiln__arena_printf(&found->arena, "libnvrtc-builtins.so.%d.%d", nvrtc->version / 1000,
                                    nvrtc->version % 1000 / 10);
    if (beside)
        nvrtc->builtins = dlopen(beside, RTLD_LAZY | RTLD_LOCAL);
    if (!nvrtc->builtins && name)
        nvrtc->builtins = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (nvrtc->builtins)
        return true;
    kiln__text_printf(&found->tried, "  %s: found, but %s is neither in its folder nor on the loader's path\n",
                      nvrtc->path, name ? name : "libnvrtc-builtins");
    return false;
}

static char *find_path(const kiln_allocator *mem, void *library, const char *name)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0]) {
        char *full = realpath(map->l_name, NULL);
        char *copy = kiln__strdup(mem, full ? full : name);
        free(full);
        return copy;
    }
    return kiln__strdup(mem, name);
}

static void unload_library(kiln__nvrtc *nvrtc)
{
    if (nvrtc->library)
        dlclose(nvrtc->library);
    if (nvrtc->builtins)
        dlclose(nvrtc->builtins);
    nvrtc->library = nvrtc->builtins = NULL;
}

/* Determines version and path of a library without loading it, from the names of files. The name of the library has the
 * major version. The library's builtins must be beside it, and their name has the major and the minor version. Loading
 * the library takes 10 ms (200,000 relocations), half of the time of a command whose kernels are all in the cache.
 * Returns false unless there is exactly one version of the builtins. */
static bool recognize_file(search *found, const char *name)
{
    static const char begin[] = "libnvrtc.so.";
    kiln__nvrtc *nvrtc = found->nvrtc;
    char *full = strchr(name, '/') ? realpath(name, NULL) : NULL;
    char *copy = full ? kiln__strdup(nvrtc->mem, full) : NULL;
    free(full);
    const char *base = copy ? strrchr(copy, '/') + 1 : "";
    char *end = NULL;
    long major = strncmp(base, begin, sizeof begin - 1) == 0 ? strtol(base + sizeof begin - 1, &end, 10) : 0;
    int versions = 0;
    if (major >= 11 && major < 100 && is_file(copy) && (*end == '\0' || *end == '.')) {
        nvrtc->path = copy;
        for (int minor = 9; minor >= 0; minor--) {
            int kept = nvrtc->version;
            nvrtc->version = 1000 * (int)major + 10 * minor;
            if (find_builtins(nvrtc, &found->arena))
                versions++;
            else
                nvrtc->version = kept;
        }
    }
    if (versions == 1)
        return true;
    nvrtc->version = 0;
    nvrtc->path = NULL;
    kiln__free(nvrtc->mem, copy);
    return false;
}

/* Loads the library `name` and looks up its functions. If this fails, adds a line to `tried`. */
static bool load_library(search *found, const char *name)
{
    kiln__nvrtc *nvrtc = found->nvrtc;
    /* RTLD_NODELETE keeps the library in memory, because the memory of its own C++ run-time would leak at each
     * unloading. */
    nvrtc->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!nvrtc->library) {
        const char *why = dlerror();
        kiln__text_printf(&found->tried, "  %s: %s\n", name, why ? why : "cannot be loaded");
        return false;
    }
    const char *missing = NULL;
#define KILN_X(function, needed)                                                                                       \
    *(void **)&nvrtc->function = dlsym(nvrtc->library, #function);                                                     \
    if (needed && !nvrtc->function)                                                                                    \
        missing = #function;
    KILN__NVRTC_FUNCTIONS(KILN_X)
#undef KILN_X
    *(void **)&nvrtc->set_flow = dlsym(nvrtc->library, "nvrtcSetFlowCallback");
    *(void **)&nvrtc->pch_status = dlsym(nvrtc->library, "nvrtcGetPCHCreateStatus");
    int major = 0, minor = 0;
    if (missing)
        kiln__text_printf(&found->tried, "  %s: it lacks %s\n", name, missing);
    else if (nvrtc->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS || major < 11)
        kiln__text_printf(&found->tried, "  %s: version %d.%d is older than 11.0\n", name, major, minor);
    else if (nvrtc->version && nvrtc->version != 1000 * major + 10 * minor)
        kiln__text_printf(&found->tried,
                          "  %s: version %d.%d, but libnvrtc-builtins beside it has the version "
                          "%d.%d\n",
                          name, major, minor, nvrtc->version / 1000, nvrtc->version % 1000 / 10);
    else {
        if (!nvrtc->version) /* if the version is already set, other threads read it without the lock */
            nvrtc->version = 1000 * major + 10 * minor;
        return true;
    }
    unload_library(nvrtc);
    return false;
}

static bool use_library(search *found, const char *name)
{
    kiln__nvrtc *nvrtc = found->nvrtc;
    if (found->later && recognize_file(found, name))
        return true;
    if (!load_library(found, name))
        return false;
    nvrtc->path = find_path(nvrtc->mem, nvrtc->library, name);
    if (!nvrtc->path)
        found->tried.failed = true;
    else if (check_builtins(found, nvrtc))
        return true;
    unload_library(nvrtc);
    nvrtc->version = 0;
    kiln__free(nvrtc->mem, nvrtc->path);
    nvrtc->path = NULL;
    return false;
}

static bool search_folder(search *found, const char *folder)
{
    if (!folder || !*folder)
        return false;
    for (size_t i = 0; i < KILN__COUNT(sonames); i++) {
        char *path = kiln__arena_printf(&found->arena, "%s/%s", folder, sonames[i]);
        if (path && is_file(path) && use_library(found, path))
            return true;
    }
    return false;
}

/* Searches the folders near Kiln's own library or program in which a toolkit may be installed. In an installed Python
 * package, NVIDIA's wheels for CUDA 13 and 12 are in the same site-packages. */
static bool search_near_us(search *found)
{
    static const char *const places[] = {"../lib/kiln/cuda/lib", "kiln/cuda/lib", "cuda/lib", "../../nvidia/cu13/lib",
                                         "../../nvidia/cuda_nvrtc/lib"};
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&sonames, &info) || !info.dli_fname)
        return false;
    char *folder = kiln__arena_folder(&found->arena, info.dli_fname);
    for (size_t i = 0; folder && i < KILN__COUNT(places); i++)
        if (search_folder(found, kiln__arena_printf(&found->arena, "%s/%s", folder, places[i])))
            return true;
    return false;
}

/* Determines which libnvrtc.so.MAJOR the loader would load, without loading it. The loader must find exactly one
 * library of builtins of that major version. Then libnvrtc is the file beside the builtins. Returns false if the loader
 * finds no such builtins, or more than one version. */
static bool recognize_by_name(search *found, int major)
{
    char *path = NULL;
    int versions = 0;
    for (int minor = 0; minor <= 9; minor++) {
        char name[64];
        snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", major, minor);
        void *builtins = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        struct link_map *map = NULL;
        if (!builtins)
            continue;
        versions++;
        if (dlinfo(builtins, RTLD_DI_LINKMAP, &map) == 0 && map && strchr(map->l_name, '/')) {
            const char *folder = kiln__arena_folder(&found->arena, map->l_name);
            path = folder ? kiln__arena_printf(&found->arena, "%s/libnvrtc.so.%d", folder, major) : NULL;
        }
        dlclose(builtins);
    }
    return versions == 1 && path && recognize_file(found, path);
}

static bool search_loader_path(search *found)
{
    for (size_t i = 0; i < KILN__COUNT(sonames); i++) {
        size_t before = found->tried.length;
        const char *suffix = sonames[i] + strlen("libnvrtc.so");
        if (found->later && *suffix && !strchr(suffix + 1, '.') &&
            recognize_by_name(found, (int)strtol(suffix + 1, NULL, 10)))
            return true;
        if (use_library(found, sonames[i]))
            return true;
        /* the final message names the loader's path once, so it needs no line for each name that the loader does not
         * find */
        if (found->tried.length > before && !found->tried.failed)
            if (strstr(found->tried.data + before, "cannot open shared object file: No such file")) {
                found->tried.length = before;
                found->tried.data[before] = '\0';
            }
    }
    return false;
}

static bool search_all(search *found)
{
#ifdef KILN_CUDA_ROOT
    if (search_folder(found, KILN_CUDA_ROOT "/lib"))
        return true;
#endif
    if (search_near_us(found) || search_loader_path(found))
        return true;
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/usr/lib/cuda"};
    for (size_t i = 0; i < KILN__COUNT(homes); i++)
        if (homes[i] && *homes[i] &&
            (search_folder(found, kiln__arena_printf(&found->arena, "%s/lib64", homes[i])) ||
             search_folder(found, kiln__arena_printf(&found->arena, "%s/lib", homes[i]))))
            return true;
    return false;
}

/* ---- the rest of an open ---- */

static void read_archs(kiln__nvrtc *nvrtc)
{
    int count = 0, all[256];
    if (nvrtc->nvrtcGetNumSupportedArchs && nvrtc->nvrtcGetSupportedArchs &&
        nvrtc->nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count > 0 && count <= (int)KILN__COUNT(all) &&
        nvrtc->nvrtcGetSupportedArchs(all) == NVRTC_SUCCESS)
        for (int i = 0; i < count && nvrtc->arch_count < KILN__MAX_ARCHS; i++)
            nvrtc->archs[nvrtc->arch_count++] = all[i];
    for (size_t i = 1; i < nvrtc->arch_count;
         i++) /* NVRTC returns the architectures in ascending order, but does not document the order */
        for (size_t j = i; j > 0 && nvrtc->archs[j - 1] > nvrtc->archs[j]; j--) {
            int swap = nvrtc->archs[j];
            nvrtc->archs[j] = nvrtc->archs[j - 1];
            nvrtc->archs[j - 1] = swap;
        }
}

static void describe_file(kiln__text *text, const char *what, const char *path)
{
    struct stat info;
    if (path && stat(path, &info) == 0)
        kiln__text_printf(text, "; %s %lld bytes of %lld.%09ld", what, (long long)info.st_size,
                          (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

static kiln_status complete_nvrtc(search *found, const char *include, kiln_error **error)
{
    kiln__nvrtc *nvrtc = found->nvrtc;
    if (nvrtc->library)
        read_archs(nvrtc);
    if (!include || !*include)
        include = find_include(nvrtc, &found->arena);
    nvrtc->include = kiln__strdup(nvrtc->mem, include ? include : "");
    char *cccl = kiln__arena_printf(&found->arena, "%s/cccl", include ? include : "");
    struct stat info;
    nvrtc->cccl = kiln__strdup(nvrtc->mem, cccl && stat(cccl, &info) == 0 && S_ISDIR(info.st_mode) ? cccl : "");
    kiln__text text = {.mem = nvrtc->mem};
    kiln__text_printf(&text, "nvrtc %d.%d, options " OPTION_SET "%s", nvrtc->version / 1000, nvrtc->version % 1000 / 10,
                      nvrtc->version < 12000 ? " C++17" : "");
    describe_file(&text, "library", nvrtc->path);
    describe_file(&text, "builtins", find_builtins(nvrtc, &found->arena));
    nvrtc->identity = text.data;
    if (text.failed || found->arena.failed || !nvrtc->include || !nvrtc->cccl)
        return kiln__fail_memory(error);
    return KILN_OK;
}

static kiln_status fail_requested(const search *found, kiln_error **error)
{
    return kiln__fail(found->nvrtc->mem, error, KILN_ERROR_NO_COMPILER,
                      "the requested NVRTC cannot be used:\n%sSet KILN_NVRTC to a libnvrtc.so, or "
                      "unset it to search for one.",
                      kiln__text_get(&found->tried));
}

/* Opens the library `path`, or searches for a library. Then completes the object: headers, architectures, identity. */
static kiln_status open_nvrtc(const kiln_allocator *mem, const char *path, const char *include, bool later,
                              kiln__nvrtc **nvrtc, kiln_error **error)
{
    search found = {.later = later, .tried = {.mem = mem}, .arena = {.mem = mem}};
    kiln_status status = KILN_OK;
    found.nvrtc = kiln__calloc(mem, 1, sizeof *found.nvrtc);
    if (!found.nvrtc)
        return kiln__fail_memory(error);
    found.nvrtc->mem = mem;
    if (pthread_mutex_init(&found.nvrtc->lock, NULL) != 0) {
        kiln__free(mem, found.nvrtc);
        return kiln__fail_memory(error);
    }
    if (path && *path) {
        if (!use_library(&found, path))
            status = fail_requested(&found, error);
    } else if (!search_all(&found)) {
        status = kiln__fail(
            mem, error, KILN_ERROR_NO_COMPILER,
            "no NVRTC (libnvrtc.so, the CUDA run-time compiler) was found.\n%sSearched: the loader's "
            "path, $CUDA_HOME and /usr/local/cuda. Install the CUDA toolkit (Debian: nvidia-cuda-toolkit, of "
            "non-free), or NVIDIA's Python wheels by " KILN__GET_NVRTC
            " (no toolkit is needed then), or set KILN_NVRTC to the file.",
            kiln__text_get(&found.tried));
    }
    if (status == KILN_OK)
        status = complete_nvrtc(&found, include, error);
    else if (found.tried.failed || found.arena.failed) {
        if (error && *error) {
            kiln_error_free(*error);
            *error = NULL;
        }
        status = kiln__fail_memory(error);
    }
    kiln__text_free(&found.tried);
    kiln__arena_free(&found.arena);
    if (status == KILN_OK)
        *nvrtc = found.nvrtc;
    else
        kiln__nvrtc_close(found.nvrtc);
    return status;
}

kiln_status kiln__nvrtc_open(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error)
{
    return open_nvrtc(mem, getenv("KILN_NVRTC"), NULL, false, nvrtc, error);
}

kiln_status kiln__nvrtc_find(const kiln_allocator *mem, kiln__nvrtc **nvrtc, kiln_error **error)
{
    return open_nvrtc(mem, getenv("KILN_NVRTC"), NULL, true, nvrtc, error);
}

kiln_status kiln__nvrtc_load(kiln__nvrtc *nvrtc, kiln_error **error)
{
    search found = {.nvrtc = nvrtc, .tried = {.mem = nvrtc->mem}, .arena = {.mem = nvrtc->mem}};
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&nvrtc->lock);
    if (!nvrtc->library) {
        if (!load_library(&found, nvrtc->path)) {
            status = found.tried.failed ? kiln__fail_memory(error) : fail_requested(&found, error);
        } else if (!check_builtins(&found, nvrtc)) {
            status = found.tried.failed ? kiln__fail_memory(error) : fail_requested(&found, error);
            unload_library(nvrtc);
        } else {
            read_archs(nvrtc);
        }
    }
    pthread_mutex_unlock(&nvrtc->lock);
    kiln__text_free(&found.tried);
    kiln__arena_free(&found.arena);
    return status;
}

kiln_status kiln__nvrtc_open_file(const kiln_allocator *mem, const char *path, const char *include, kiln__nvrtc **nvrtc,
                                  kiln_error **error)
{
    return open_nvrtc(mem, path, include, false, nvrtc, error);
}

void kiln__nvrtc_close(kiln__nvrtc *nvrtc)
{
    if (!nvrtc)
        return;
    unload_library(nvrtc);
    kiln__free(nvrtc->mem, nvrtc->path);
    kiln__toolkit_free(nvrtc->mem, nvrtc->toolkit);
    pthread_mutex_destroy(&nvrtc->lock);
    kiln__free(nvrtc->mem, nvrtc->host.items);
    kiln__free(nvrtc->mem, nvrtc->include);
    kiln__free(nvrtc->mem, nvrtc->cccl);
    kiln__free(nvrtc->mem, nvrtc->identity);
    kiln__free(nvrtc->mem, nvrtc);
}

int kiln__nvrtc_version(const kiln__nvrtc *nvrtc) { return nvrtc->version; }

const char *kiln__nvrtc_path(const kiln__nvrtc *nvrtc) { return nvrtc->path; }

const char *kiln__nvrtc_identity(const kiln__nvrtc *nvrtc) { return nvrtc->identity; }

const char *kiln__nvrtc_include(const kiln__nvrtc *nvrtc) { return nvrtc->include; }

bool kiln__nvrtc_has_arch(kiln__nvrtc *nvrtc, int arch)
{
    /* architectures that every version from 12.0 to 13.x supports, by NVIDIA's documentation */
    static const int always[] = {75, 80, 86, 89, 90};
    if (nvrtc->version >= 12000 && nvrtc->version < 14000)
        for (size_t i = 0; i < KILN__COUNT(always); i++)
            if (always[i] == arch)
                return true;
    int known[KILN__MAX_ARCHS];
    size_t count = kiln__nvrtc_archs(nvrtc, known, KILN__COUNT(known));
    for (size_t i = 0; i < count && i < KILN__COUNT(known); i++)
        if (known[i] == arch)
            return true;
    return false;
}

size_t kiln__nvrtc_archs(kiln__nvrtc *nvrtc, int *archs, size_t room)
{
    if (kiln__nvrtc_load(nvrtc, NULL) != KILN_OK)
        return 0;
    for (size_t i = 0; i < nvrtc->arch_count && i < room; i++)
        archs[i] = nvrtc->archs[i];
    return nvrtc->arch_count;
}
