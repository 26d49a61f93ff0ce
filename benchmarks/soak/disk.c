/* A disk that fails, to be loaded into a process with LD_PRELOAD.

   It counts the writes and flushes to the files in one folder. At one of them it fails, or kills the process, before it
   or in the middle of it; or it records all of them in order, so that any power loss can be played back. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASS, EIO_ONCE, FULL_ONCE, SHORT_ONCE, KILL_BEFORE, KILL_WITHIN, RECORD };

static char folder[PATH_MAX];
static int mode = PASS, record = -1;
static long at, count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void soak_disk(const char *watched, int how, long when, const char *path)
{
    count = 0;
    at = when;
    strncpy(folder, watched, sizeof folder - 1);
    if (how == RECORD)
        record = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    mode = how;
}

long soak_disk_count(void) { return count; }

/* The path of an open file in the folder, or of the folder; 0 if it is another one. */
static int watched(int fd, char *path)
{
    char link[64];
    if (!folder[0])
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && (path[n] == 0 || path[n] == '/');
}

static void note(char what, const char *path, int64_t offset, const void *data, int64_t size)
{
    static ssize_t (*write_)(int, const void *, size_t);
    char head[PATH_MAX + 64];
    if (!write_)
        write_ = dlsym(RTLD_NEXT, "write");
    int n = snprintf(head, sizeof head, "%c %s %lld %lld\n", what, path + strlen(folder), (long long)offset, (long long)size);
    pthread_mutex_lock(&lock);
    write_(record, head, n);
    if (data && size)
        write_(record, data, size);
    pthread_mutex_unlock(&lock);
}

/* What becomes of one call: 0 it goes through, -1 it fails, or the number of bytes that are written. */
static ssize_t fate(int fd, size_t size, int *kill_after)
{
    char path[PATH_MAX];
    *kill_after = 0;
    if (mode == RECORD || !watched(fd, path))
        return 0;
    long now = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (now != at)
        return 0;
    switch (mode) {
    case EIO_ONCE: errno = EIO; return -1;
    case FULL_ONCE: errno = ENOSPC; return -1;
    case SHORT_ONCE:
        if (size < 2) { errno = ENOSPC; return -1; }
        return size / 2;
    case KILL_WITHIN:
        if (size >= 2) { *kill_after = 1; return size / 2; }
        /* fall through */
    case KILL_BEFORE: kill(getpid(), SIGKILL); for (;;) pause();
    }
    return 0;
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *data, size_t size)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    int killed; char path[PATH_MAX]; struct stat about;
    ssize_t some = fate(fd, size, &killed);
    if (some < 0) return -1;
    if (some > 0) { ssize_t done = real(fd, data, some); if (killed) die(); return done; }
    if (mode == RECORD && fd != record && watched(fd, path)) {
        off_t from = (fcntl(fd, F_GETFL) & O_APPEND) ? (fstat(fd, &about), about.st_size) : lseek(fd, 0, SEEK_CUR);
        note('W', path, from, data, size);
    }
    return real(fd, data, size);
}

#define PWRITE(name, type) \
    ssize_t name(int fd, const void *data, size_t size, type offset) \
    { \
        REAL(ssize_t, #name, int, const void *, size_t, type); \
        int killed; char path[PATH_MAX]; \
        ssize_t some = fate(fd, size, &killed); \
        if (some < 0) return -1; \
        if (some > 0) { ssize_t done = real(fd, data, some, offset); if (killed) die(); return done; } \
        if (mode == RECORD && watched(fd, path)) note('W', path, offset, data, size); \
        return real(fd, data, size, offset); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC(name) \
    int name(int fd) \
    { \
        REAL(int, #name, int); \
        int killed; char path[PATH_MAX]; \
        if (fate(fd, 0, &killed) < 0) return -1; \
        if (mode == RECORD && watched(fd, path)) note('S', path, 0, NULL, 0); \
        return real(fd); \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, type) \
    int name(int fd, type size) \
    { \
        REAL(int, #name, int, type); \
        int killed; char path[PATH_MAX]; \
        if (fate(fd, 0, &killed) < 0) return -1; \
        if (mode == RECORD && watched(fd, path)) note('T', path, size, NULL, 0); \
        return real(fd, size); \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int unlink(const char *path)
{
    REAL(int, "unlink", const char *);
    size_t n = strlen(folder);
    if (mode == RECORD && n && !strncmp(path, folder, n) && path[n] == '/')
        note('U', path, 0, NULL, 0);
    return real(path);
}
