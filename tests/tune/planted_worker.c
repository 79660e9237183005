/* planted_worker - stands between a sweep and kiln-worker ($KILN_PLANTED_WORKER). It passes the messages on, and does
 * what a configuration of planted.yaml asks for. As a compiler it crashes, is killed or hangs. As a runner it dies
 * during a sample.
 *
 * An action that must happen only once makes a file with its name in $KILN_PLANTED_MARKS, and does not happen if
 * this file exists. Each process holds a share of the file `busy` there while it works. A runner that measures a
 * configuration again, after the configuration killed a runner, asks for an exclusive lock of `busy`. If other
 * processes still hold shares, it makes the file `not-alone`. $KILN_PLANTED_MS is the time in milliseconds by which
 * each sample takes longer, as on a slow device. The worker writes the time limit of each sample, in seconds, to the
 * file `limits` in the same folder. With $KILN_PLANTED_KEEP a runner sends a planted reference: `good` before its first
 * launch, `late` after it, and `other` of another spec. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "protocol_internal.h"

static bool holds(const char *body, size_t length, const char *text)
{
    return memmem(body, length, text, strlen(text)) != NULL;
}

static int open_mark(const char *name, int flags)
{
    char path[512];
    const char *folder = getenv("KILN_PLANTED_MARKS");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "/nowhere", name);
    return open(path, O_CREAT | O_WRONLY | O_CLOEXEC | flags, 0600);
}

/* Returns true if the action `what` has not happened before. */
static bool is_first(const char *what)
{
    int made = open_mark(what, O_EXCL);
    if (made >= 0)
        close(made);
    return made >= 0;
}

static void note_limit(const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__runner_request request;
    const int file = open_mark("limits", O_APPEND);
    if (file >= 0 && kiln__runner_read_run(body, length, &arena, &request))
        dprintf(file, "%.1f\n", request.trial.timeout);
    if (file >= 0)
        close(file);
    kiln__arena_free(&arena);
}

static kiln__hash128 spec_hash; /* the hash of the text in the opening message */

static void note_spec(const char *body, size_t length)
{
    kiln__arena arena = {0};
    kiln__runner_setup runner;
    if (kiln__runner_read_open(body, length, &arena, &runner))
        spec_hash = kiln__hash(runner.text, runner.text_length);
    kiln__arena_free(&arena);
}

/* Sends a reference without exports if the environment requests one at this moment. */
static bool send_reference(bool launched)
{
    const char *how = getenv("KILN_PLANTED_KEEP");
    kiln__text key = {0}, list = {0}, data = {0}, message = {0};
    char hash[33];
    if (!how || launched != (strcmp(how, "late") == 0))
        return true;
    kiln__hash_print(strcmp(how, "other") == 0 ? (kiln__hash128){1, 2} : spec_hash, hash);
    kiln__text_printf(&key, "kiln reference 1\nspec %s\nhost forged\n", hash);
    kiln__exports_pack(NULL, &list, &data);
    const kiln__kept_reference kept = {.key = key.data,
                                       .key_length = key.length,
                                       .spec = "planted",
                                       .function = "forged",
                                       .sizes = "",
                                       .list = list.data,
                                       .list_length = list.length};
    kiln__runner_write_keep(&message, &kept);
    const bool sent = kiln__socket_send(STDIN_FILENO, &message);
    kiln__text_free(&key);
    kiln__text_free(&list);
    kiln__text_free(&message);
    return sent;
}

/* Acts on a message: ends the process, hangs, waits, or notes its fields, as the planted names in the message demand.
 * `busy` is a lock file that shows whether another worker runs at the same time. */
static void act(const kiln__message_header *header, const char *body, int busy)
{
    size_t length = (size_t)header->length;
    bool again = false;
    if (header->kind == KILN__RUNNER_OPEN)
        note_spec(body, length);
    if (header->kind == KILN__RUNNER_RUN)
        note_limit(body, length);
    if (header->kind == KILN__RUNNER_RUN && holds(body, length, "runner_killed_once")) {
        again = !is_first("runner");
        if (!again)
            raise(SIGKILL);
    } else if (header->kind == KILN__RUNNER_RUN && holds(body, length, "runner_killed")) {
        raise(SIGKILL);
    }
    if (busy >= 0 && header->kind != KILN__RUNNER_OPEN && flock(busy, (again ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
        is_first("not-alone");
    const char *ms = getenv("KILN_PLANTED_MS");
    if (header->kind == KILN__RUNNER_RUN && ms)
        usleep((useconds_t)atoi(ms) * 1000);
    if (header->kind == KILN__RUNNER_OPEN || header->kind == KILN__RUNNER_RUN)
        return;
    if (holds(body, length, "#define KIND compiler_crash\n"))
        raise(SIGSEGV);
    if (holds(body, length, "#define KIND compiler_killed\n") ||
        (holds(body, length, "#define KIND compiler_killed_once\n") && is_first("compiler")))
        raise(SIGKILL);
    if (holds(body, length, "#define KIND compiler_hang\n"))
        for (;;)
            pause();
}

/* Passes one answer of the real worker on. Sets *more if another answer to the request follows. Releases `busy` before
 * it sends the last answer, because the receiver may rely on this. */
static bool hand_back(const kiln__child *real, int busy, bool *more)
{
    uint32_t kind = 0;
    char *body = NULL;
    size_t length = 0;
    if (kiln__child_receive(real, NULL, 0, &kind, &body, &length) != KILN__IO_DONE)
        return false;
    kiln__text message = {0};
    kiln__wire_begin(&message, kind);
    kiln__text_add(&message, body, length);
    kiln__wire_end(&message);
    *more = kind == KILN__RUNNER_LAUNCHING || kind == KILN__RUNNER_WAITING || kind == KILN__RUNNER_KEEP;
    if (busy >= 0 && !*more)
        flock(busy, LOCK_UN);
    const bool launches = kind == KILN__RUNNER_LAUNCHING;
    bool sent = !launches || send_reference(false);
    sent = sent && kiln__socket_send(STDIN_FILENO, &message);
    sent = sent && (!launches || send_reference(true));
    kiln__text_free(&message);
    kiln__free(NULL, body);
    return sent;
}

int main(int count, char **arguments)
{
    const char *program = getenv("KILN_PLANTED_WORKER"), *own[16];
    char self[32];
    bool runs = false, more = false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!program || count >= 15)
        return 2;
    snprintf(self, sizeof self, "%ld", (long)getpid());
    own[0] = program;
    for (int i = 1; i <= count; i++) {
        own[i] = i > 1 && i < count && strcmp(arguments[i - 1], "--parent") == 0 ? self : arguments[i];
        runs |= i < count && strcmp(arguments[i], "--run") == 0;
    }
    kiln__child real = {.socket = -1, .pidfd = -1, .wake = -1};
    if (kiln__child_start(&real, own) != 0)
        return 3;
    bool good = runs || hand_back(&real, -1, &more); /* a compiler sends the first message */
    kiln__message_header header;
    char *body = NULL;
    int busy = open_mark("busy", 0);
    while (good && kiln__socket_message(STDIN_FILENO, &header, &body)) {
        act(&header, body, busy);
        kiln__text message = {0};
        kiln__wire_begin(&message, header.kind);
        kiln__text_add(&message, body, (size_t)header.length);
        kiln__wire_end(&message);
        good = kiln__child_send(&real, &message, 0) == KILN__IO_DONE;
        kiln__text_free(&message);
        kiln__free(NULL, body);
        do
            good = good && hand_back(&real, busy, &more);
        while (good && more);
    }
    kiln__child_end(&real);
    return good ? 0 : 1;
}
