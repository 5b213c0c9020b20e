"""Ends a process right after its N-th sync to disk from some moment on, as a loss of power or `kill -9`
would there: what was written before is in its files, nothing of what comes after.

A small library, which is compiled when it is wanted (with `cc`) and preloaded into the process, counts
`fsync` and `fdatasync` down in a page that both share. Processes that are linked statically, or sync
in other ways, are not reached by it.
"""

from __future__ import annotations

import mmap
import struct
import subprocess

from . import machine, processes

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Syncs that are left; 0 for no end. */
static atomic_int *left;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("PELORUS_CRASH_POINT");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return;
    void *page = mmap(0, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) left = page;
    close(file);
}

static int count(int result) {
    int now = left ? atomic_load(left) : 0;
    while (now > 0 && !atomic_compare_exchange_weak(left, &now, now - 1)) {}
    if (now == 1) kill(getpid(), SIGKILL);
    return result;
}

int fsync(int file) {
    return count(((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file));
}

int fdatasync(int file) {
    return count(((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file));
}
"""


class CrashPoint:
    """Where a process ends that is started with `environment`."""

    def __init__(self):
        folder = processes.folder("crash-point")
        source, library, page = folder / "count.c", folder / "count.so", folder / "left"
        source.write_text(SOURCE)
        subprocess.run([machine.find("cc"), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"],
                       stdin=subprocess.DEVNULL, check=True)
        page.write_bytes(bytes(mmap.PAGESIZE))
        with open(page, "r+b") as file:
            self._left = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.environment = {"LD_PRELOAD": str(library), "PELORUS_CRASH_POINT": str(page)}

    @staticmethod
    def is_available() -> bool:
        """Whether there is a compiler for it."""
        return machine.find("cc") is not None

    def arm(self, syncs: int) -> None:
        """Lets the process end after so many syncs from now on; with 0 it does not."""
        self._left[:4] = struct.pack("=i", syncs)
