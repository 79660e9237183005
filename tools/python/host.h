/* host.h - C functions that the Python module needs in addition to the public headers. _build.py takes its declarations
 * from here too. */
#ifndef KILN_PYTHON_HOST_H
#define KILN_PYTHON_HOST_H

#include <kiln_catalogue.h>
#include <kiln_judge.h>
#include <kiln_tune.h>

/* Returns NumPy's code of an element type, such as "f4", or NULL if there is no such type. */
const char *kiln_py_code(int type);

/* A flag for `stop` of kiln_options and kiln_run_options. Between kiln_py_watch() and kiln_py_unwatch() a SIGINT sets
 * this flag too, because Python's own handler runs only when the library has returned. The calls may be nested, and
 * only the main thread may make them. If SIGINT is ignored or ends the process, they have no effect. */
extern volatile int kiln_py_stop;
void kiln_py_watch(void);
void kiln_py_unwatch(void);

#endif
