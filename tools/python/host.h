/* host.h - what the Python module needs beside the public headers. _build.py takes its declarations from here too. */
#ifndef KILN_PYTHON_HOST_H
#define KILN_PYTHON_HOST_H

#include <kiln_tune.h>

/* NumPy's code of an element type, "f4"; NULL: no such type. */
const char *kiln_py_code(int type);

/* From kiln_py_watch() to kiln_py_unwatch() a SIGINT also sets the int that the former returns, for `stop` of
 * kiln_run_options: Python's own handler runs only when the library has returned. May be nested; only in the main
 * thread. It changes nothing where SIGINT is ignored or ends the process. */
const volatile int *kiln_py_watch(void);
void kiln_py_unwatch(void);

#endif
