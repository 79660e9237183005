/* interrupt.c - the first SIGINT or SIGTERM ends a command in an orderly way, the second one at once. The handler is
 * here and not in the library: it sets a flag, which is passed to the library and checked by the commands. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* The library reads it as an int, which is what sig_atomic_t is here. */
static volatile int interrupted;
static struct timespec interrupted_at;
static char interrupted_text[256]; /* not of the command's memory: a signal may come after it was freed */
static size_t interrupted_length;

/* A second signal ends at once, unless it comes so soon after the first that it is probably the same one: a terminal,
 * `timeout` and similar programs may send a signal to a process and to its group. */
static void on_signal(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!interrupted) {
        interrupted_at = now;
        interrupted = 1;
        (void)!write(STDERR_FILENO, interrupted_text, interrupted_length);
    } else if ((double)(now.tv_sec - interrupted_at.tv_sec) + (double)(now.tv_nsec - interrupted_at.tv_nsec) / 1e9 >
               0.3) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void cli_catch_signals(const char *what)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    int length = snprintf(interrupted_text, sizeof interrupted_text,
                          "\nkiln: ending%s%s; press Ctrl-C again to end at once\n", *what ? " after " : "", what);
    interrupted_length = length < 0 ? 0 : strlen(interrupted_text);
    for (size_t i = 0; i < CLI_COUNT(numbers); i++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
        sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* nohup ignores them: keep that */
            sigaction(numbers[i], &action, NULL);
    }
}

bool cli_interrupted(void) { return interrupted != 0; }

const volatile int *cli_interrupt_flag(void) { return &interrupted; }
