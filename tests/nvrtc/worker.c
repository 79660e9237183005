/* worker.c - starts kiln-worker, and before it a helper (helper.c) for the stand-in for NVRTC (library.c).
 *
 * kiln-worker lowers its limit on the size of files to 0 before it loads the library. A helper that it started could remember
 * nothing. It also closes all descriptors that it inherits. So this helper listens on a socket, which $KILN_TEST_NVRTC_SOCKET
 * names. The system ends the helper with the worker.
 *
 * A worker that runs kernels loads the library in a sandbox, where it can reach no helper. It gets NVIDIA's library. */
#include <sys/prctl.h>

#include "wire.h"

int main(int count, char **arguments)
{
    bool runs = false;
    for (int i = 1; i < count; i++)
        runs |= strcmp(arguments[i], "--run") == 0;
    if (runs)
        setenv("KILN_NVRTC", KILN_NVRTC_REAL, 1);
    struct sockaddr_un at;
    const int listener = runs ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const socklen_t length = name_socket(&at, getpid());
    if (listener >= 0 && bind(listener, (struct sockaddr *)&at, length) == 0 && listen(listener, 1) == 0) {
        const pid_t self = getpid();
        char number[16];
        snprintf(number, sizeof number, "%ld", (long)self);
        setenv("KILN_TEST_NVRTC_SOCKET", number, 1);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            snprintf(number, sizeof number, "%d", listener);
            if (getppid() == self && fcntl(listener, F_SETFD, 0) == 0)
                execl(KILN_NVRTC_HELPER, KILN_NVRTC_HELPER, "listen", number, (char *)NULL);
            _exit(1);
        }
    }
    execv(KILN_NVRTC_WORKER, arguments);
    return 3;
}
