/* Stands between a program and the files below one folder: records what it does to them, kills it at a chosen
 * operation, or lets operations fail. Loaded with LD_PRELOAD; `disk.rs` sets the environment and says what it means.
 *
 * It does not replace functions of the C library, since much of loci calls the kernel without it. It has the kernel
 * hand over the system calls that change files (a seccomp filter that answers SECCOMP_RET_TRAP, see seccomp(2)), and
 * makes them itself, from the one place in the program that the filter lets through. A program under it cannot start
 * others: the filter stays in force, and the library is not there yet when they load theirs. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/* `kernel` makes a system call; `after_call` is where it comes back to, which is what the filter knows it by. */
extern char after_call[];
long kernel(long number, long a, long b, long c, long d, long e);
#if defined(__x86_64__)
__asm__(".text\n.globl kernel\n.hidden kernel\n.globl after_call\n.hidden after_call\n"
        "kernel: mov %rdi,%rax\n mov %rsi,%rdi\n mov %rdx,%rsi\n mov %rcx,%rdx\n mov %r8,%r10\n mov %r9,%r8\n"
        "syscall\nafter_call: ret\n");
#define ARGUMENTS(m) {m.gregs[REG_RDI], m.gregs[REG_RSI], m.gregs[REG_RDX], m.gregs[REG_R10], m.gregs[REG_R8]}
#define RESULT(m) m.gregs[REG_RAX]
#elif defined(__aarch64__)
__asm__(".text\n.globl kernel\n.hidden kernel\n.globl after_call\n.hidden after_call\n"
        "kernel: mov x8,x0\n mov x0,x1\n mov x1,x2\n mov x2,x3\n mov x3,x4\n mov x4,x5\n svc #0\nafter_call: ret\n");
#define ARGUMENTS(m) {m.regs[0], m.regs[1], m.regs[2], m.regs[3], m.regs[4]}
#define RESULT(m) m.regs[0]
#else
#error "no system calls are known for this processor"
#endif

/* What is done to a file; the letters stand in the log and choose what a fault meets. */
enum { OPEN = 'o', CREATE = 'c', WRITE = 'w', TRUNCATE = 't', SYNC = 's', RENAME = 'r', LINK = 'l', UNLINK = 'u',
       FOLDER = 'f', READ = 'R', REPLY = '>' };

struct record {
    uint32_t magic, process;
    int32_t result; /* what the system call gave: negative for an error */
    uint8_t kind, is_fault;
    uint16_t flags; /* of RENAME: those of renameat2 */
    uint64_t file, other, offset;
    uint32_t path, other_path, data; /* bytes that follow, in this order */
} __attribute__((packed));

static char folder[PATH_MAX];
static size_t folder_length;
static int log_file = -1;
static char fault_kinds[16];
static unsigned long fault_first, fault_count, operations;
static char fault_action; /* 'b': kill before, 'a': kill after, 'e': fail, 's': a short write, then fail */
static int fault_error;
static char is_busy;

static int is_error(long result) { return result < 0 && result > -4096; }

static int is_below(const char *path) {
    return strncmp(path, folder, folder_length) == 0 && (path[folder_length] == '/' || path[folder_length] == 0);
}

/* The path of what is open; empty if there is none. */
static void path_of(long file, char *path) {
    char link[32];
    char *end = link + sizeof link, *at = end;
    *--at = 0;
    unsigned long number = file < 0 ? 0 : (unsigned long)file;
    do { *--at = '0' + number % 10; number /= 10; } while (number);
    if (file == AT_FDCWD) {
        memcpy(link, "/proc/self/cwd", 15);
        at = link;
    } else {
        at -= 14;
        memcpy(at, "/proc/self/fd/", 14);
    }
    long length = kernel(SYS_readlinkat, AT_FDCWD, (long)at, (long)path, PATH_MAX - 1, 0);
    path[is_error(length) ? 0 : length] = 0;
}

/* A path as it stands below an open folder. */
static void join(long at, const char *name, char *path) {
    size_t length = 0;
    if (name[0] != '/') {
        path_of(at, path);
        length = strlen(path);
        path[length++] = '/';
    }
    size_t rest = strlen(name);
    if (length + rest >= PATH_MAX) rest = PATH_MAX - 1 - length;
    memcpy(path + length, name, rest);
    path[length + rest] = 0;
    while (length + rest > 1 && path[length + rest - 1] == '/') path[length + --rest] = 0;
}

static uint64_t inode_of(long at, const char *path, int flags, struct stat *state) {
    struct stat own;
    if (!state) state = &own;
    long done = kernel(SYS_newfstatat, at, (long)path, (long)state, flags, 0);
    return is_error(done) ? 0 : state->st_ino;
}

static void lock(void) {
    while (__atomic_test_and_set(&is_busy, __ATOMIC_ACQUIRE)) kernel(SYS_sched_yield, 0, 0, 0, 0, 0);
    if (log_file >= 0) kernel(SYS_flock, log_file, LOCK_EX, 0, 0, 0);
}

static void unlock(void) {
    if (log_file >= 0) kernel(SYS_flock, log_file, LOCK_UN, 0, 0, 0);
    __atomic_clear(&is_busy, __ATOMIC_RELEASE);
}

static void note(struct record record, const char *path, const char *other, const void *data, size_t length) {
    if (log_file < 0) return;
    record.magic = 0x6b736964;
    record.process = kernel(SYS_getpid, 0, 0, 0, 0, 0);
    record.path = strlen(path), record.other_path = strlen(other), record.data = length;
    struct iovec parts[] = {{&record, sizeof record}, {(void *)path, record.path},
                            {(void *)other, record.other_path}, {(void *)data, length}};
    kernel(SYS_writev, log_file, (long)parts, 4, 0, 0);
}

static void die(void) { kernel(SYS_kill, kernel(SYS_getpid, 0, 0, 0, 0, 0), SIGKILL, 0, 0, 0); for (;;) {} }

/* Whether this operation is one that the fault meets, and which of them, from 1. Under the lock. */
static unsigned long meets(char kind) {
    if (!fault_action || !((fault_kinds[0] == '*' && kind != READ) || strchr(fault_kinds, kind))) return 0;
    unsigned long number = ++operations;
    return number >= fault_first && number - fault_first < fault_count ? number - fault_first + 1 : 0;
}

/* Does a system call on files that matter, or what the fault does instead. Under the lock. */
static long perform(long number, const long *a, struct record *record) {
    unsigned long met = meets(record->kind);
    record->is_fault = met != 0;
    if (met && fault_action == 'b') die();
    if (met && fault_action == 's' && record->kind == WRITE && met == 1 && a[2] > 1)
        return kernel(number, a[0], a[1], a[2] / 2, a[3], a[4]);
    if (met && (fault_action == 'e' || fault_action == 's')) return -fault_error;
    return kernel(number, a[0], a[1], a[2], a[3], a[4]);
}

static void end(const struct record *record) {
    if (record->is_fault && fault_action == 'a') die();
    unlock();
}

static long on_file(long number, long *a, char kind) {
    char path[PATH_MAX];
    path_of(a[0], path);
    if (!is_below(path)) {
        if (kind == WRITE && a[0] == 1 && log_file >= 0) {
            /* What is said is in the log before anybody can hear it. */
            lock();
            note((struct record){.kind = REPLY, .result = a[2]}, "", "", (void *)a[1], a[2]);
            unlock();
        }
        return kernel(number, a[0], a[1], a[2], a[3], a[4]);
    }
    struct record record = {.kind = kind};
    struct stat state;
    lock();
    record.file = inode_of(a[0], "", AT_EMPTY_PATH, &state);
    if (number == SYS_pwrite64) record.offset = a[3];
    else if (kind == TRUNCATE) record.offset = a[1];
    else if (kind == WRITE) {
        long flags = kernel(SYS_fcntl, a[0], F_GETFL, 0, 0, 0);
        record.offset = flags & O_APPEND ? state.st_size : kernel(SYS_lseek, a[0], 0, SEEK_CUR, 0, 0);
    }
    long result = perform(number, a, &record);
    record.result = result;
    if (kind != READ || record.is_fault) note(record, path, "", (void *)a[1], kind == WRITE && result > 0 ? result : 0);
    end(&record);
    return result;
}

static long on_open(long number, long *a, long at, const char *name, long flags) {
    char path[PATH_MAX];
    join(at, name, path);
    if (!is_below(path)) return kernel(number, a[0], a[1], a[2], a[3], a[4]);
    struct record record = {.kind = OPEN};
    lock();
    int is_there = inode_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, NULL) != 0;
    long result = perform(number, a, &record);
    record.result = result;
    if (!is_error(result)) {
        record.file = inode_of(result, "", AT_EMPTY_PATH, NULL);
        if (!is_there) record.kind = CREATE;
        else if (flags & O_TRUNC) record.kind = TRUNCATE;
    }
    if (record.kind != OPEN || record.is_fault) note(record, path, "", "", 0);
    end(&record);
    return result;
}

static long on_name(long number, long *a, char kind, long at, const char *name) {
    char path[PATH_MAX];
    join(at, name, path);
    if (!is_below(path)) return kernel(number, a[0], a[1], a[2], a[3], a[4]);
    struct record record = {.kind = kind};
    lock();
    if (kind == UNLINK) record.file = inode_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, NULL);
    long result = perform(number, a, &record);
    record.result = result;
    if (kind == FOLDER && !is_error(result)) record.file = inode_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, NULL);
    note(record, path, "", "", 0);
    end(&record);
    return result;
}

static long on_names(long number, long *a, char kind, long at, const char *old, long to, const char *new, long flags) {
    char path[PATH_MAX], other[PATH_MAX];
    join(at, old, path);
    join(to, new, other);
    if (!is_below(path) && !is_below(other)) return kernel(number, a[0], a[1], a[2], a[3], a[4]);
    struct record record = {.kind = kind, .flags = flags};
    lock();
    record.file = inode_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, NULL);
    record.other = inode_of(AT_FDCWD, other, AT_SYMLINK_NOFOLLOW, NULL);
    record.result = perform(number, a, &record);
    note(record, path, other, "", 0);
    end(&record);
    return record.result;
}

/* The call with the first part of the data alone, which every caller has to reckon with. */
static long on_parts(long number, long *a) {
    const struct iovec *parts = (const struct iovec *)a[1];
    for (long part = 0; part < a[2]; part++)
        if (parts[part].iov_len) {
            long one[] = {a[0], (long)parts[part].iov_base, (long)parts[part].iov_len, a[3], 0};
            return on_file(number == SYS_writev ? SYS_write : SYS_pwrite64, one, WRITE);
        }
    return kernel(number, a[0], a[1], a[2], a[3], a[4]);
}

static long answer(long number, long *a) {
    switch (number) {
    case SYS_write: case SYS_pwrite64: return on_file(number, a, WRITE);
    case SYS_writev: case SYS_pwritev: {
        char path[PATH_MAX];
        path_of(a[0], path);
        int matters = is_below(path) || (a[0] == 1 && log_file >= 0);
        return matters ? on_parts(number, a) : kernel(number, a[0], a[1], a[2], a[3], a[4]);
    }
    case SYS_read: case SYS_pread64: return on_file(number, a, READ);
    case SYS_ftruncate: return on_file(number, a, TRUNCATE);
    case SYS_fsync: case SYS_fdatasync: return on_file(number, a, SYNC);
    case SYS_openat: return on_open(number, a, (int)a[0], (char *)a[1], a[2]);
    case SYS_unlinkat: return on_name(number, a, UNLINK, (int)a[0], (char *)a[1]);
    case SYS_mkdirat: return on_name(number, a, FOLDER, (int)a[0], (char *)a[1]);
    case SYS_linkat: return on_names(number, a, LINK, (int)a[0], (char *)a[1], (int)a[2], (char *)a[3], 0);
    case SYS_renameat: return on_names(number, a, RENAME, (int)a[0], (char *)a[1], (int)a[2], (char *)a[3], 0);
    case SYS_renameat2: return on_names(number, a, RENAME, (int)a[0], (char *)a[1], (int)a[2], (char *)a[3], a[4]);
#ifdef SYS_open
    case SYS_open: return on_open(number, a, AT_FDCWD, (char *)a[0], a[1]);
    case SYS_unlink: case SYS_rmdir: return on_name(number, a, UNLINK, AT_FDCWD, (char *)a[0]);
    case SYS_mkdir: return on_name(number, a, FOLDER, AT_FDCWD, (char *)a[0]);
    case SYS_link: return on_names(number, a, LINK, AT_FDCWD, (char *)a[0], AT_FDCWD, (char *)a[1], 0);
    case SYS_rename: return on_names(number, a, RENAME, AT_FDCWD, (char *)a[0], AT_FDCWD, (char *)a[1], 0);
#endif
    /* Ways to write that programs can do without. */
    default: return -ENOSYS;
    }
}

static void on_trap(int signal, siginfo_t *info, void *context) {
    (void)signal;
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    long arguments[] = ARGUMENTS((*machine));
    RESULT((*machine)) = answer(info->si_syscall, arguments);
}

static void install(int with_reads) {
    static const int always[] = {
        SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_ftruncate, SYS_fsync, SYS_fdatasync, SYS_openat,
        SYS_unlinkat, SYS_mkdirat, SYS_linkat, SYS_renameat, SYS_renameat2, SYS_pwritev2, SYS_copy_file_range,
        SYS_sendfile, SYS_splice, SYS_io_uring_setup, SYS_truncate, SYS_fallocate,
#ifdef SYS_open
        SYS_open, SYS_creat, SYS_unlink, SYS_rmdir, SYS_mkdir, SYS_link, SYS_rename,
#endif
        SYS_read, SYS_pread64,
    };
    int calls = sizeof always / sizeof *always - (with_reads ? 0 : 2);
    uint64_t from = (uint64_t)after_call;
    struct sock_filter filter[64] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)from, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(from >> 32), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    int length = 6;
    for (int call = 0; call < calls; call++)
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, always[call], calls - call, 0);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {length, filter};
    /* No signal may come while the lock is held: its handler might write. */
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        fprintf(stderr, "this system hands over no system calls: %s\n", strerror(errno));
        _exit(86);
    }
}

__attribute__((constructor)) static void begin(void) {
    const char *below = getenv("CRASH_FOLDER"), *log = getenv("CRASH_LOG"), *fault = getenv("CRASH_FAULT");
    if (!below) return;
    folder_length = strlen(below);
    memcpy(folder, below, folder_length + 1);
    if (log && (log_file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0) _exit(87);
    if (fault && sscanf(fault, "%15[^:]:%lu:%lu:%c:%d", fault_kinds, &fault_first, &fault_count, &fault_action,
                        &fault_error) != 5) _exit(88);
    install(fault && strchr(fault_kinds, READ));
}
