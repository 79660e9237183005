/* stack.h - runs the main function of a program on a large stack, independent of `ulimit -s`. Used by kiln and by
 * kiln-worker, each in one file. */
#ifndef KILN_TOOLS_STACK_H
#define KILN_TOOLS_STACK_H

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct stack_program {
    int (*run)(int count, char **arguments);
    int count;
    char **arguments;
} stack_program;

/* Ends the process, not only the thread: a child made by fork() has no other thread, and would lose the exit code. */
static void *stack_begin(void *user)
{
    const stack_program *program = user;
    exit(program->run(program->count, program->arguments));
}

/* Runs the program and returns its exit code. If the limit of the main thread's stack is below `bytes`, the program
 * runs in a thread whose stack has that size, since a hard limit cannot be raised. The C library uses this limit as the
 * default size of the stacks of all other threads, also in other libraries. So those stacks get `bytes` too. */
static inline int stack_run(size_t bytes, int (*run)(int count, char **arguments), int count, char **arguments)
{
    stack_program program = {run, count, arguments};
    struct rlimit limit;
    pthread_attr_t attributes;
    pthread_t thread;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes)
        return run(count, arguments);
    int failed = pthread_attr_init(&attributes);
    if (!failed)
        failed = pthread_attr_setstacksize(&attributes, bytes);
#ifdef __GLIBC__
    if (!failed)
        failed = pthread_setattr_default_np(&attributes);
#endif
    if (!failed)
        failed = pthread_create(&thread, &attributes, stack_begin, &program);
    if (failed) {
        static const char text[] =
            "kiln: there is no memory for a stack; raise the limit of memory (ulimit -v), or that of the "
            "stack to 8192 (ulimit -s)\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        return 70; /* KILN_ERROR_MEMORY */
    }
    pthread_join(thread, NULL); /* this call does not return, because the thread ends the process */
    return 70;
}

#endif
