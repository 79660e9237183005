/* library.c - a stand-in for NVIDIA's libnvrtc.so. It passes every request to a helper process (helper.c), which asks NVIDIA's
 * library, and remembers the answers of all tests of a run.
 *
 * Why: half of the time of the tests under the address sanitizer was NVRTC's. That time is lost, because the sanitizer watches
 * NVRTC's memory, which is none of Kiln's. Many tests also compile the same kernels, each with a cache of its own.
 *
 * A worker has a helper already (worker.c). For any other process the helper starts when the library is loaded. It ends when
 * the connection closes, so with the process. */
#include <nvrtc.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include "wire.h"

#define EXPORT __attribute__((visibility("default")))

struct _nvrtcProgram {
    message inputs; /* source, name, headers */
    message names;  /* name expressions */
    message answer; /* as the helper sent it */
    uint64_t name_count;
    const char *parts[PARTS];
    size_t sizes[PARTS];
};

/* The connection: made once, and used by one thread at a time. */
static struct {
    pthread_mutex_t lock;
    int fd;
    pid_t owner; /* a forked child must not use the connection of its parent */
} helper = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

extern char **environ;

/* Connects with the helper that the worker has. */
static int connect_helper(const char *number)
{
    struct sockaddr_un at;
    const socklen_t length = name_socket(&at, strtol(number, NULL, 10));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, length) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

__attribute__((constructor)) static void start_helper(void)
{
    const char *given = getenv("KILN_TEST_NVRTC_SOCKET");
    helper.owner = getpid();
    if (given) {
        helper.fd = connect_helper(given);
        return;
    }
    int ends[2], status;
    char number[16];
    char *arguments[] = {(char[]){KILN_NVRTC_HELPER}, number, NULL};
    pid_t child;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    snprintf(number, sizeof number, "%d", ends[1]);
    posix_spawn_file_actions_adddup2(&actions, ends[1], ends[1]); /* to the same number: only clears close-on-exec */
    const int failed = posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) /* it forks, so that no caller of wait() sees it */
        ;
    helper.fd = ends[0];
}

__attribute__((destructor)) static void end_helper(void)
{
    if (helper.fd >= 0)
        close(helper.fd);
    helper.fd = -1;
}

/* Sends a request and receives its answer, which the caller frees. */
static bool ask(const message *request, message *answer)
{
    pthread_mutex_lock(&helper.lock);
    const bool done = helper.fd >= 0 && helper.owner == getpid() && send_message(helper.fd, request) &&
                      receive_message(helper.fd, answer);
    pthread_mutex_unlock(&helper.lock);
    return done;
}

/* ---- the library ---- */

static nvrtcResult load_about(about *found)
{
    message request = {0}, answer = {0};
    put_bytes(&request, &(char){ASK_ABOUT}, 1);
    bool done = ask(&request, &answer) && answer.length == sizeof *found;
    if (done)
        memcpy(found, answer.data, sizeof *found);
    free(request.data);
    free(answer.data);
    return done ? NVRTC_SUCCESS : NVRTC_ERROR_INTERNAL_ERROR;
}

EXPORT nvrtcResult nvrtcVersion(int *major, int *minor)
{
    about found = {0};
    const nvrtcResult result = load_about(&found);
    *major = found.major;
    *minor = found.minor;
    return result;
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
    about found = {0};
    const nvrtcResult result = load_about(&found);
    *count = found.count;
    return result;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int *archs)
{
    about found = {0};
    const nvrtcResult result = load_about(&found);
    memcpy(archs, found.archs, (size_t)found.count * sizeof *archs);
    return result;
}

EXPORT const char *nvrtcGetErrorString(nvrtcResult result)
{
    static _Thread_local char text[128];
    message request = {0}, answer = {0};
    put_bytes(&request, &(char){ASK_ERROR}, 1);
    put_bytes(&request, &(int32_t){(int32_t)result}, sizeof(int32_t));
    if (ask(&request, &answer))
        snprintf(text, sizeof text, "%.*s", (int)answer.length, answer.data);
    else
        snprintf(text, sizeof text, "NVRTC_ERROR_INTERNAL_ERROR");
    free(request.data);
    free(answer.data);
    return text;
}

/* ---- programs ---- */

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int count,
                                      const char *const *headers, const char *const *names)
{
    nvrtcProgram made = calloc(1, sizeof *made);
    if (!made)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    put_text(&made->inputs, source, strlen(source));
    put_text(&made->inputs, name ? name : "", name ? strlen(name) : 0);
    put_number(&made->inputs, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        put_text(&made->inputs, headers[i], strlen(headers[i]));
        put_text(&made->inputs, names[i], strlen(names[i]));
    }
    *program = made;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    free((*program)->inputs.data);
    free((*program)->names.data);
    free((*program)->answer.data);
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *name)
{
    put_text(&program->names, name, strlen(name));
    program->name_count++;
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    message request = {0};
    put_bytes(&request, &(char){ASK_COMPILE}, 1);
    put_number(&request, (uint64_t)count);
    for (int i = 0; i < count; i++)
        put_text(&request, options[i], strlen(options[i]));
    put_number(&request, program->name_count);
    put_bytes(&request, program->names.data, program->names.length);
    put_bytes(&request, program->inputs.data, program->inputs.length);
    request.failed = request.failed || program->names.failed || program->inputs.failed;
    free(program->answer.data);
    program->answer = (message){0}; /* of an earlier compile, whose parts are gone too */
    memset(program->parts, 0, sizeof program->parts);
    const bool done = ask(&request, &program->answer);
    free(request.data);
    int32_t result = NVRTC_ERROR_INTERNAL_ERROR;
    const char *from = done ? take_bytes(&program->answer, sizeof result) : NULL;
    if (from)
        memcpy(&result, from, sizeof result);
    for (int i = 0; from && i < PARTS; i++)
        program->parts[i] = take_text(&program->answer, &program->sizes[i]);
    return (nvrtcResult)result;
}

EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *name, const char **lowered)
{
    message names = program->names, symbols = program->answer; /* copies, which are read from the front */
    for (uint64_t i = 0; i < program->name_count; i++) {
        const char *symbol = take_text(&symbols, NULL);
        if (strcmp(take_text(&names, NULL), name) == 0) {
            *lowered = symbol;
            return symbols.failed || !*symbol ? NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID : NVRTC_SUCCESS;
        }
    }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

static nvrtcResult give(nvrtcProgram program, int part, char *to)
{
    if (!program || !program->parts[part])
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(to, program->parts[part], program->sizes[part]);
    return NVRTC_SUCCESS;
}

static nvrtcResult give_size(nvrtcProgram program, int part, size_t *size)
{
    if (!program || !program->parts[part])
        return NVRTC_ERROR_INVALID_PROGRAM;
    *size = program->sizes[part];
    return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) { return give_size(program, PTX, size); }

EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *to) { return give(program, PTX, to); }

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) { return give_size(program, CUBIN, size); }

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *to) { return give(program, CUBIN, to); }

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) { return give_size(program, LOG, size); }

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *to) { return give(program, LOG, to); }
