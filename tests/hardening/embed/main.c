/* A program of a project that takes Kiln as a part of it. */
#include <kiln.h>

int main(void) { return kiln_version()[0] == '\0'; }
