/* worker.c - the main loop of kiln-worker: one request after another until the socket closes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile_internal.h"
#include "confine.h"

/* Precompiled headers hold addresses. So a worker that uses or makes them runs without random ones (main.c), has NVRTC
 * allocate its heap for them before anything else, and uses files alone whose name has the place of the library. NVRTC
 * compares the place of the heap itself. */
typedef struct pch {
    const char *folder, *writable; /* writable: for NVRTC's temporary files, which it removes when it has opened them */
    bool makes;
    char path[4400]; /* for the next request; "": none */
} pch;

static void warm_up(kiln__nvrtc *nvrtc)
{
    const char *options[] = {"--use-pch=/nowhere/none.pch"}; /* it fails when the heap is there */
    nvrtcProgram program = NULL;
    if (nvrtc->nvrtcCreateProgram(&program, "\n", "empty.cu", 0, NULL, NULL) != NVRTC_SUCCESS)
        return;
    nvrtc->nvrtcCompileProgram(program, 1, options);
    nvrtc->nvrtcDestroyProgram(&program);
}

/* The file for `path`, unless it may not be trusted or, to be used, is not there. */
static void choose(pch *with, const kiln__nvrtc *nvrtc, const char *path, bool make)
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

/* The file appears under its name when it is complete. */
static void compile(kiln__nvrtc *nvrtc, kiln__compile_request *request, const pch *with, kiln__unit *unit, uint64_t *ns,
                    kiln_status *status, kiln_error **error)
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

/* Answers the request in `body`. False: the request is invalid, or the answer cannot be sent. */
static bool answer(int fd, kiln__nvrtc *nvrtc, const pch *with, const char *body, size_t length)
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
        compile(nvrtc, &request, with, &unit, &ns, &status, &error);
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

static bool confine(const kiln__nvrtc *nvrtc, const pch *with, char *how, size_t room)
{
    /* The libraries are loaded already; they stay readable for versions that open them again. */
    const char *readable[] = {nvrtc->include, nvrtc->cccl, nvrtc->path, KILN__SANITIZED ? "/proc/self" : NULL,
                              with->makes ? NULL : with->folder};
    const kiln__confinement want = {.readable = readable, .count = KILN__COUNT(readable), .writable = with->writable};
    return kiln__confine(&want, how, room) & KILN__CONFINED_FILES;
}

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
        mine.confined = confined && confine(nvrtc, &with, how, sizeof how);
    }
    kiln__message_hello(&hello, status, &mine);
    bool good = kiln__socket_send(fd, &hello) && status == KILN_OK;
    kiln__text_free(&hello);
    kiln_error_free(error);
    kiln__message_header header;
    char *body = NULL;
    while (good && kiln__socket_message(fd, &header, &body)) { /* ends normally when the connection closes */
        const char *given;
        bool make;
        if (header.kind == KILN__MESSAGE_PCH) {
            good = kiln__message_read_pch(body, (size_t)header.length, &given, &make);
            if (good)
                choose(&with, nvrtc, given, make);
        } else {
            good = header.kind == KILN__MESSAGE_REQUEST && answer(fd, nvrtc, &with, body, (size_t)header.length);
            with.path[0] = '\0';
        }
        kiln__free(NULL, body);
    }
    kiln__nvrtc_close(nvrtc);
    kiln__arena_free(&arena);
    return good ? 0 : 1;
}
