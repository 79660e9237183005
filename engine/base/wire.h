/* wire.h - child processes, and the messages between them and the library.
 *
 * A message is a header and a body of fields. A field is a 64-bit number, or a length (such a number) followed by that
 * many bytes. Both sides treat a message as untrusted input: for any bytes, reading returns a value or sets
 * `failed`. */
#ifndef KILN_BASE_WIRE_H
#define KILN_BASE_WIRE_H

#include <sys/types.h>

#include "base.h"

#define KILN__MESSAGE_MAGIC 0x314b574bu /* "KWK1" */
#define KILN__MESSAGE_MAX ((uint64_t)1 << 30)
typedef struct kiln__message_header {
    uint32_t magic, kind;
    uint64_t length;
} kiln__message_header;

/* ---- writing (wire.c): builds a message in memory, header first; check `failed` of the text once, at the end ---- */
void kiln__wire_begin(kiln__text *out, uint32_t kind);
void kiln__wire_number(kiln__text *out, uint64_t number);
void kiln__wire_real(kiln__text *out, double number);
void kiln__wire_bytes(kiln__text *out, const void *bytes, size_t length);
/* also writes the NUL, so that the reader may point into the message */
void kiln__wire_string(kiln__text *out, const char *text);
void kiln__wire_end(kiln__text *out); /* writes the final length into the header */

/* ---- reading: after the first field that does not fit, every read fails ---- */
typedef struct kiln__wire {
    const char *at;
    size_t left;
    bool failed;
} kiln__wire;
uint64_t kiln__wire_read_number(kiln__wire *in);
double kiln__wire_read_real(kiln__wire *in);
const char *kiln__wire_read_bytes(kiln__wire *in, size_t *length);
const char *kiln__wire_read_string(kiln__wire *in);
/* reads the number of elements of a list; each element takes at least one number */
size_t kiln__wire_read_count(kiln__wire *in);
kiln_status kiln__wire_read_status(kiln__wire *in);

/* ---- used in the child: a blocking socket ---- */
/* returns false after an error, or if the connection is closed */
bool kiln__socket_receive(int fd, void *data, size_t length);
/* returns false after an error, or if the message is incomplete */
bool kiln__socket_send(int fd, const kiln__text *message);
/* Receives the next message. The caller frees *body with kiln__free(NULL, ...). Returns false and sets *body to NULL if
 * the connection ended, memory ran out, or the bytes are not a message. */
bool kiln__socket_message(int fd, kiln__message_header *header, char **body);

/* ---- used by the parent (child.c): a process of another program, whose standard input is a socket ---- */
typedef struct kiln__child kiln__child;

/* A place where Kiln starts processes that are not children of this process: another machine (ranks/). The functions
 * below treat a child at a place like any other child. The socket of such a child leads to a relay, and its pid is a
 * number that the relay chose. */
typedef struct kiln__place {
    void *self;
    /* name of the place in messages: "rank 3 (node7)" */
    char name[96];
    int (*start)(void *self, kiln__child *child, const char *const *arguments); /* like kiln__child_start() */
    int (*end)(void *self, kiln__child *child);                                 /* like kiln__child_end() */
    /* returns true if no process can be started at this place any more, and the children there are lost */
    bool (*gone)(void *self);
} kiln__place;

struct kiln__child {
    pid_t pid;
    int socket; /* the socket to the child, or -1 if there is no process */
    int pidfd;
    /* a wait stops when this descriptor becomes readable; -1 if there is no such descriptor */
    int wake;
    /* the place of the child, or NULL for this machine. The caller sets this member, and the functions below only read
     * it */
    const kiln__place *place;
    /* true if the child's standard output goes to the standard output of this process, false if it is discarded */
    bool shows;
};
bool kiln__child_place_gone(const kiln__child *child);

typedef enum kiln__io {
    KILN__IO_DONE,
    KILN__IO_CLOSED,
    KILN__IO_LATE,
    KILN__IO_STOPPED,
    KILN__IO_MALFORMED,
    KILN__IO_MEMORY
} kiln__io;

/* Starts the program arguments[0] in its own process group, with no signal blocked or ignored. The function never forks
 * without an exec. Returns 0 or an error number. The function does not change `wake`, `place` and `shows`. */
int kiln__child_start(kiln__child *child, const char *const *arguments);
/* Ends the child and returns its status from waitpid(). Returns -1 if the status is unknown or there is no process.
 * kiln__child_end_closed() first waits up to 2 s for a process that closed its socket. So the returned status is the
 * process's own status, and not the result of a kill. */
int kiln__child_end(kiln__child *child);
int kiln__child_end_closed(kiln__child *child);
/* Returns true if the child has closed its socket, or has sent bytes although this process awaited no answer. */
bool kiln__child_is_gone(const kiln__child *child);
/* Writes how a child ended, such as "it was ended by signal 11, Segmentation fault". */
void kiln__child_describe(int how, char *text, size_t room);

/* The deadlines of these functions are times of kiln__now_ns(). 0 means that there is no deadline. */
/* waits until the socket has something to read */
kiln__io kiln__child_await(const kiln__child *child, uint64_t deadline);
kiln__io kiln__child_send(const kiln__child *child, const kiln__text *message, uint64_t deadline);
/* Receives a message. The caller frees *body. */
kiln__io kiln__child_receive(const kiln__child *child, const kiln_allocator *mem, uint64_t deadline, uint32_t *kind,
                             char **body, size_t *length);

/* These functions send or receive without waiting, for a caller that serves several children. The functions return
 * KILN__IO_LATE if they would have to wait. `sent` and `in` keep the progress of a message. The caller sets them to
 * zero before the first call for a message. */
typedef struct kiln__incoming {
    kiln__message_header header;
    size_t got; /* number of bytes of header and body that have arrived */
    char *body; /* body of the message; the caller frees it, even if the message stays incomplete */
} kiln__incoming;
kiln__io kiln__child_send_some(const kiln__child *child, const kiln__text *message, size_t *sent);
kiln__io kiln__child_receive_some(const kiln__child *child, const kiln_allocator *mem, kiln__incoming *in);

/* ---- another program, run to its end (process.c) ---- */
typedef struct kiln__process {
    /* The list ends with NULL. The first argument is the name of the program, which the function searches in PATH. The
     * function uses no shell */
    const char *const *arguments;
    const char *folder; /* the working folder of the program */
    /* path of a new file for the program's standard output and error; the file must not exist */
    const char *output;
    double seconds;           /* time limit, or 0 for no limit */
    const volatile int *stop; /* a flag that the caller sets to a nonzero value to end the program, or NULL */
} kiln__process;
typedef enum kiln__ended { KILN__ENDED_ITSELF, KILN__ENDED_LATE, KILN__ENDED_STOPPED } kiln__ended;
/* Returns 0 and sets *how to the status of waitpid(), or to -1 if the status is unknown. If the program does not start,
 * returns the error number. The function ends all processes of the program's process group. */
int kiln__process_run(const kiln__process *program, int *how, kiln__ended *ended);
/* Makes a folder in $TMPDIR or /tmp that only the current user can use. If this fails, returns NULL and sets errno. */
const char *kiln__folder_private(kiln__arena *arena);
void kiln__folder_remove(const char *path); /* removes the folder and its contents, and does not follow links */

#endif
