/* host.h - what the Python module needs beside the public headers. _build.py takes its declarations from here too. */
#ifndef KILN_PYTHON_HOST_H
#define KILN_PYTHON_HOST_H

#include <kiln_catalogue.h>
#include <kiln_judge.h>
#include <kiln_tune.h>

/* NumPy's code of an element type, "f4"; NULL: no such type. */
const char *kiln_py_code(int type);

/* For `stop` of kiln_options and kiln_run_options: from kiln_py_watch() to kiln_py_unwatch() a SIGINT also sets it.
 * Python's own handler runs only when the library has returned. May be nested; only in the main thread. Nothing changes
 * where SIGINT is ignored or ends the process. */
extern volatile int kiln_py_stop;
void kiln_py_watch(void);
void kiln_py_unwatch(void);

#endif
