/* A program of a project whose build contains Kiln. */
#include <kiln.h>

int main(void) { return kiln_version()[0] == '\0'; }
