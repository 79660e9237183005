/* worker.c - the main loop of kiln-worker. The protocol on the socket: first the worker sends HELLO. Then for each
 * request it receives an optional PCH message and a REQUEST, and sends a RESULT. A closed connection or an invalid
 * message ends the worker. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile_internal.h"
#include "confine.h"

/* The file of precompiled headers for the next request of the worker. A file of precompiled headers contains addresses.
 * So a worker that uses or makes such a file runs without address space randomisation (main.c), and lets NVRTC allocate
 * the heap of precompiled headers before anything else. The name of the file contains the address of NVRTC's library.
 * NVRTC itself checks the address of the heap. */
typedef struct pch {
    /* `writable` is the folder for NVRTC's temporary files, which NVRTC removes after it opened them */
    const char *folder, *writable;
    bool makes;
    char path[4400]; /* path of the file, or "" if the next request uses none */
} pch;

/* Makes NVRTC allocate the heap of precompiled headers first, so that the heap has the same address in each process. */
static void warm_up(kiln__nvrtc *nvrtc)
{
    /* this compile fails, but only after the heap was allocated */
    const char *options[] = {"--use-pch=/nowhere/none.pch"};
    nvrtcProgram program = NULL;
    if (nvrtc->nvrtcCreateProgram(&program, "\n", "empty.cu", 0, NULL, NULL) != NVRTC_SUCCESS)
        return;
    nvrtc->nvrtcCompileProgram(program, 1, options);
    nvrtc->nvrtcDestroyProgram(&program);
}

/* Chooses the file of precompiled headers at `path` for the next request. Chooses no file if the file may not be
 * trusted, or if it shall be read and does not exist. */
static void choose_file(pch *with, const kiln__nvrtc *nvrtc, const char *path, bool make)
{
    struct stat info;
    int length = snprintf(with->path, sizeof with->path, "%s-%llx.pch", path,
                          (unsigned long long)(uintptr_t)nvrtc->nvrtcVersion);
    bool good = with->folder && length < (int)sizeof with->path - 32 && make == with->makes &&
                kiln__path_below(path, with->folder);
    if (good && !make)
        good = lstat(with->path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
               !(info.st_mode & (S_IWGRP | S_IWOTH));
    if (!good)
        with->path[0] = '\0';
}

/* Compiles one request. Compiles a request. If NVRTC makes a new file of precompiled headers, the file gets a temporary
 * name, and the function renames it when it is complete. */
static void compile_request(kiln__nvrtc *nvrtc, kiln__compile_request *request, const pch *with, kiln__unit *unit,
                            uint64_t *ns, kiln_status *status, kiln_error **error)
{
    char part[sizeof with->path + 32];
    snprintf(part, sizeof part, "%s.tmp-%ld", with->path, (long)getpid());
    if (*with->path)
        request->pch = with->makes ? part : with->path;
    request->pch_make = with->makes;
    *status = kiln__compile_here(NULL, nvrtc, request, NULL, 0, unit, ns, error);
    if (!request->pch || !with->makes)
        return;
    *request->pch_done = *request->pch_done && chmod(part, 0600) == 0 && rename(part, with->path) == 0;
    if (!*request->pch_done)
        unlink(part);
}

/* Answers the request in `body`. Returns false if the request is invalid or the answer cannot be sent. */
static bool answer_request(int fd, kiln__nvrtc *nvrtc, const pch *with, const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__text message = {0};
    kiln__compile_request request;
    kiln__unit unit = {0};
    kiln_error *error = NULL;
    uint64_t ns = 0;
    kiln_status status;
    bool good = kiln__message_read_request(body, length, &arena, &request);
    if (good) {
        bool used = false;
        request.pch_done = &used;
        compile_request(nvrtc, &request, with, &unit, &ns, &status, &error);
        kiln__message_result(&message, status, ns, &unit, kiln_error_message(error), kiln__error_is_passing(error),
                             used);
        good = kiln__socket_send(fd, &message);
    }
    kiln__unit_free(&unit);
    kiln_error_free(error);
    kiln__text_free(&message);
    kiln__arena_free(&arena);
    return good;
}

static bool confine_self(const kiln__nvrtc *nvrtc, const pch *with, char *how, size_t room)
{
    /* The libraries are already loaded at this point. The worker may still read the libraries, because some versions of
     * NVRTC open them again. */
    const char *readable[] = {nvrtc->include, nvrtc->cccl, nvrtc->path, KILN__SANITIZED ? "/proc/self" : NULL,
                              with->makes ? NULL : with->folder};
    const kiln__confinement want = {.readable = readable, .count = KILN__COUNT(readable), .writable = with->writable};
    return kiln__confine(&want, how, room) & KILN__CONFINED_FILES;
}

/* Loads NVRTC, then confines the process, then sends HELLO: the worker takes no source before it is confined. After
 * HELLO the worker answers requests until the connection closes. */
int kiln__worker_run(int fd, const char *path, const char *include, const char *folder, bool makes, bool confined)
{
    pch with = {.folder = folder, .makes = makes};
    kiln__arena arena = {0};
    if (folder) {
        with.writable = makes ? folder : kiln__arena_printf(&arena, "%s/" KILN__PCH_TEMPORARY, folder);
        setenv("TMPDIR", with.writable ? with.writable : folder, 1);
    }
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    kiln_status status = kiln__nvrtc_open_file(NULL, path, include, &nvrtc, &error);
    kiln__text hello = {0};
    char how[256] = "not requested";
    kiln__hello mine = {.identity = kiln_error_message(error), .how = how};
    if (status == KILN_OK) {
        mine.identity = kiln__nvrtc_identity(nvrtc);
        if (folder)
            warm_up(nvrtc);
        mine.confined = confined && confine_self(nvrtc, &with, how, sizeof how);
    }
    kiln__message_hello(&hello, status, &mine);
    bool good = kiln__socket_send(fd, &hello) && status == KILN_OK;
    kiln__text_free(&hello);
    kiln_error_free(error);
    kiln__message_header header;
    char *body = NULL;
    while (good && kiln__socket_message(fd, &header, &body)) { /* a closed connection ends the loop normally */
        const char *given;
        bool make;
        if (header.kind == KILN__MESSAGE_PCH) {
            good = kiln__message_read_pch(body, (size_t)header.length, &given, &make);
            if (good)
                choose_file(&with, nvrtc, given, make);
        } else {
            good = header.kind == KILN__MESSAGE_REQUEST &&
                   answer_request(fd, nvrtc, &with, body, (size_t)header.length);
            with.path[0] = '\0';
        }
        kiln__free(NULL, body);
    }
    kiln__nvrtc_close(nvrtc);
    kiln__arena_free(&arena);
    return good ? 0 : 1;
}
