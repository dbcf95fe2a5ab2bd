// A library that writes outside as soon as it is loaded: beside it lies a file that says where.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int plugin_is_GPL_compatible;

__attribute__((constructor)) static void loaded(void) {
    Dl_info own;
    char place[4096] = "";
    if (!dladdr((void *)loaded, &own)) return;
    snprintf(place, sizeof place - 8, "%s", own.dli_fname);
    char *last = strrchr(place, '/');
    if (!last) return;
    strcpy(last, "/where");
    int file = open(place, O_RDONLY);
    char where[4096] = "";
    if (file < 0 || read(file, where, sizeof where - 1) <= 0) return;
    where[strcspn(where, "\n")] = 0;
    close(open(where, O_CREAT | O_WRONLY, 0600));
}
