// What a hostile program tries by system calls. It ends with 0 if it got through, with 1 if not.
// usage: attack NAME [PLACE] [PID] [NUMBER]
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// Headers may be older than the kernel.
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

static const char *place = "";
static pid_t pid;
static int number;

static char text[4096];
static const char *in(const char *name) {
    snprintf(text, sizeof text, "%s/%s", place, name);
    return text;
}
static int is(long result) { return result != -1; }
static int writes(int file) { return file >= 0 && write(file, "x\n", 2) == 2; }
static int has_powers(int file) {
    struct stat it;
    return file >= 0 && fstat(file, &it) == 0 && (it.st_mode & 06000);
}
static int call(long number_, long a, long b, long c, long d, long e) {
    return is(syscall(number_, a, b, c, d, e));
}
#define CALL5(a, b, c, d, e, f) call(a, (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

// Files.
static int f_creat(void) { return writes(creat(in("new"), 0600)); }
static int f_openat2(void) {
    struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0600};
    return writes((int)syscall(SYS_openat2, AT_FDCWD, in("new"), &how, sizeof how));
}
static int f_handle_again(void) {
    int file = open(in("file"), O_PATH);
    char again[64];
    snprintf(again, sizeof again, "/proc/self/fd/%d", file);
    return writes(open(again, O_WRONLY | O_APPEND));
}
static int f_unnamed(void) {
    int file = open(".", O_TMPFILE | O_RDWR, 0600);
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", file);
    return is(linkat(AT_FDCWD, own, AT_FDCWD, in("new"), AT_SYMLINK_FOLLOW));
}
static int f_unnamed_there(void) {
    int file = open(place, O_TMPFILE | O_RDWR, 0600);
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", file);
    return is(linkat(AT_FDCWD, own, AT_FDCWD, in("new"), AT_SYMLINK_FOLLOW));
}
static int f_exchange(void) {
    close(creat("mine", 0600));
    return is(syscall(SYS_renameat2, AT_FDCWD, "mine", AT_FDCWD, in("file"), RENAME_EXCHANGE));
}
static int f_whiteout(void) {
    return is(syscall(SYS_renameat2, AT_FDCWD, in("file"), AT_FDCWD, "gone", 4));
}
static int f_truncate(void) { return is(truncate(in("file"), 1)); }
static int f_truncate_read(void) { return is(ftruncate(open(in("file"), O_RDONLY | O_TRUNC), 0)); }
static int f_truncate_device(void) { return is(ftruncate(open(in("file"), O_RDWR), 1)); }
static int f_allocate(void) { return is(fallocate(open(in("file"), O_RDWR), 0, 0, 4096)); }
static int f_map(void) {
    int file = open(in("file"), O_RDWR);
    char *at = mmap(0, 1, PROT_WRITE, MAP_SHARED, file, 0);
    return at != MAP_FAILED && (*at = 'X');
}
static int f_fchdir(void) {
    return is(fchdir(open(place, O_PATH | O_DIRECTORY))) && writes(open("new", O_CREAT | O_WRONLY, 0600));
}
static int f_socket_file(void) { return is(mknod(in("new"), S_IFSOCK | 0600, 0)); }
static int f_pipe_file(void) { return is(mknod(in("new"), S_IFIFO | 0600, 0)); }
static int f_link_handle(void) {
    return is(linkat(open("mine", O_CREAT | O_RDWR, 0600), "", AT_FDCWD, in("new"), AT_EMPTY_PATH));
}
static int f_race(void) {
    // A directory and a link change places while a file in it is made.
    mkdir("d", 0700);
    symlink(place, "l");
    pid_t child = fork();
    if (child == 0)
        for (;;) syscall(SYS_renameat2, AT_FDCWD, "d", AT_FDCWD, "l", RENAME_EXCHANGE);
    struct stat it;
    int through = 0;
    for (int turn = 0; turn < 20000 && !through; turn++) {
        close(open("d/new", O_CREAT | O_WRONLY, 0600));
        through = stat(in("new"), &it) == 0;
    }
    kill(child, SIGKILL);
    return through;
}
static int f_mode(void) { return is(chmod(in("file"), 0600)); }
static int f_mode2(void) { return CALL5(SYS_fchmodat2, AT_FDCWD, in("file"), 0600, 0, 0); }
static int f_owner(void) { return is(chown(in("file"), getuid(), getgid())) && is(utimes(in("file"), 0)); }
static int f_times(void) {
    struct timeval times[2] = {{1, 0}, {1, 0}};
    return is(utimes(in("file"), times));
}
static int f_attribute(void) { return is(setxattr(in("file"), "user.piton", "x", 1, 0)); }
static int f_flags(void) {
    int flags = 0, file = open(in("file"), O_RDONLY);
    if (ioctl(file, FS_IOC_GETFLAGS, &flags) == -1) return 0;
    flags |= FS_NOATIME_FL;
    return is(ioctl(file, FS_IOC_SETFLAGS, &flags));
}
static int f_by_handle(void) {
    struct { struct file_handle it; char bytes[128]; } handle = {.it = {.handle_bytes = 128}};
    int mount_id;
    if (name_to_handle_at(AT_FDCWD, in("file"), &handle.it, &mount_id, 0) == -1) return 0;
    return writes(open_by_handle_at(open("/", O_RDONLY), &handle.it, O_WRONLY | O_APPEND));
}
static int f_disk(void) {
    // Some block device of this machine; a disk has every file in it.
    DIR *all = opendir("/sys/class/block");
    struct dirent *one;
    while (all && (one = readdir(all))) {
        char device[300], byte[512];
        snprintf(device, sizeof device, "/dev/%s", one->d_name);
        int disk = open(device, O_RDONLY);
        if (disk >= 0 && read(disk, byte, sizeof byte) > 0) return 1;
        close(disk);
    }
    return 0;
}
static int f_kernel_log(void) { return is(open("/dev/kmsg", O_WRONLY)); }
static int f_setting(void) {
    // The same value again: the right to write it is what counts.
    char was[64] = "";
    int file = open("/proc/sys/kernel/panic", O_RDONLY);
    ssize_t length = read(file, was, sizeof was);
    return length > 0 && write(open("/proc/sys/kernel/panic", O_WRONLY), was, length) == length;
}
static int f_group(void) { return is(mkdir("/sys/fs/cgroup/piton-attack", 0755)) && is(rmdir("/sys/fs/cgroup/piton-attack")); }

// Files with the rights of others, in the directory of the attempt.
static int p_chmod(void) { return is(chmod("s", 04755)); }
static int p_fchmod(void) { return is(fchmod(open("s", O_RDONLY), 02755)); }
static int p_fchmodat(void) { return CALL5(SYS_fchmodat, AT_FDCWD, "s", 04755, 0, 0); }
static int p_fchmodat2(void) { return CALL5(SYS_fchmodat2, AT_FDCWD, "s", 06755, 0, 0); }
static int p_open(void) { return has_powers(open("p", O_CREAT | O_WRONLY, 04755)); }
static int p_creat(void) { return has_powers(creat("p", 04755)); }
static int p_openat2(void) {
    struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 04755};
    return has_powers((int)syscall(SYS_openat2, AT_FDCWD, "p", &how, sizeof how));
}
static int p_unnamed(void) { return has_powers(open(".", O_TMPFILE | O_RDWR, 06755)); }
static int p_mknod(void) { return is(mknod("p", S_IFREG | 04755, 0)) && has_powers(open("p", O_PATH)); }
static int p_capability(void) {
    // A file that would start with the power to own all files.
    unsigned char powers[] = {1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return is(setxattr("s", "security.capability", powers, sizeof powers, 0));
}
static int p_shared(void) {
    // Shared memory is a file too.
    snprintf(text, sizeof text, "/dev/shm/piton-attack-%d", getpid());
    int through = has_powers(open(text, O_CREAT | O_RDWR, 04755));
    unlink(text);
    return through;
}

// Processes.
static int k_kill(void) { return is(kill(pid, number)); }
static int k_group(void) { return is(kill(-getpgid(pid), 0)); }
static int k_tkill(void) { return CALL5(SYS_tkill, pid, 0, 0, 0, 0); }
static int k_tgkill(void) { return CALL5(SYS_tgkill, pid, pid, 0, 0, 0); }
static int k_queue(void) {
    siginfo_t info = {.si_code = SI_QUEUE};
    return CALL5(SYS_rt_sigqueueinfo, pid, SIGCONT, &info, 0, 0);
}
static int k_handle(void) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    return process >= 0 && CALL5(SYS_pidfd_send_signal, process, SIGCONT, 0, 0, 0);
}
static int k_file_owner(void) {
    // The kernel sends a signal to whoever owns a file, when there is something to read.
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    fcntl(ends[0], F_SETOWN, pid);
    fcntl(ends[0], F_SETSIG, SIGSTOP);
    fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    write(ends[1], "x", 1);
    char name[64], line[256] = "";
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    for (int turn = 0; turn < 50; turn++) {
        FILE *stat = fopen(name, "r");
        if (!stat || !fgets(line, sizeof line, stat)) return 0;
        fclose(stat);
        if (strstr(line, ") T ")) return 1;
        usleep(2000);
    }
    return 0;
}
// Every thread of the processes above this one, which are supervisors of the command.
static int above(int (*attempt)(int process, int thread)) {
    int process = getpid(), through = 0;
    for (int step = 0; step < 16; step++) {
        char name[64], line[512] = "";
        snprintf(name, sizeof name, "/proc/%d/stat", process);
        FILE *stat = fopen(name, "r");
        if (!stat || !fgets(line, sizeof line, stat)) break;
        fclose(stat);
        if (sscanf(strrchr(line, ')'), ") %*c %d", &process) != 1 || process <= 1) break;
        // The words of a supervisor begin with our name.
        snprintf(name, sizeof name, "/proc/%d/cmdline", process);
        stat = fopen(name, "r");
        size_t length = stat ? fread(line, 1, sizeof line, stat) : 0;
        if (stat) fclose(stat);
        if (!memmem(line, length, "piton supervise", 15) && !memmem(line, length, "piton\0supervise", 15)) continue;
        printf("%d is %.*s\n", process, (int)length, line);
        snprintf(name, sizeof name, "/proc/%d/task", process);
        DIR *all = opendir(name);
        struct dirent *one;
        while (all && (one = readdir(all)))
            if (atoi(one->d_name)) through |= attempt(process, atoi(one->d_name));
    }
    return through;
}
static int signal_thread(int process, int thread) { return CALL5(SYS_tgkill, process, thread, 0, 0, 0); }
static int signal_process(int process, int thread) { (void)thread; return is(kill(process, 0)); }
static int trace_process(int process, int thread) {
    (void)thread;
    return is(ptrace(PTRACE_SEIZE, process, 0, 0)) && (ptrace(PTRACE_DETACH, process, 0, 0), 1);
}
static int limit_process(int process, int thread) {
    (void)thread;
    struct rlimit limit;
    return is(prlimit(process, RLIMIT_CORE, 0, &limit)) && is(prlimit(process, RLIMIT_CORE, &limit, 0));
}
static int k_supervisor(void) { return above(signal_process); }
static int k_supervisor_threads(void) { return above(signal_thread); }
static int k_supervisor_trace(void) { return above(trace_process); }
static int k_supervisor_limit(void) { return above(limit_process); }

static int t_attach(void) { return is(ptrace(PTRACE_ATTACH, pid, 0, 0)) && is(waitpid(pid, 0, __WALL)) && is(ptrace(PTRACE_DETACH, pid, 0, 0)); }
static int t_seize(void) { return is(ptrace(PTRACE_SEIZE, pid, 0, 0)) && (ptrace(PTRACE_DETACH, pid, 0, 0), 1); }
static long first_page(const char *right) {
    char name[64], line[512];
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *maps = fopen(name, "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, right)) return strtol(line, 0, 16);
    return 0;
}
static int t_read(void) {
    char byte;
    struct iovec own = {&byte, 1}, other = {(void *)first_page("r"), 1};
    return process_vm_readv(pid, &own, 1, &other, 1, 0) == 1;
}
static int t_write(void) {
    char byte;
    struct iovec own = {&byte, 1}, other = {(void *)first_page("rw"), 1};
    return process_vm_readv(pid, &own, 1, &other, 1, 0) == 1 && process_vm_writev(pid, &own, 1, &other, 1, 0) == 1;
}
static int of_process(const char *what, int flags) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/%s", pid, what);
    return open(name, flags);
}
static int t_memory(void) { return is(of_process("mem", O_RDWR)); }
static int t_environment(void) {
    char bytes[65536];
    ssize_t length = read(of_process("environ", O_RDONLY), bytes, sizeof bytes);
    return length > 0 && memmem(bytes, length, "MY_API_KEY=", 11);
}
static int t_arguments(void) {
    char bytes[4096];
    ssize_t length = read(of_process("cmdline", O_RDONLY), bytes, sizeof bytes);
    return length > 0 && memmem(bytes, length, "1000", 4);
}
static int t_directory(void) {
    char bytes[4096];
    snprintf(text, sizeof text, "/proc/%d/cwd", pid);
    return readlink(text, bytes, sizeof bytes) > 0;
}
static int t_root(void) {
    char name[4200];
    snprintf(name, sizeof name, "/proc/%d/root%s/new", pid, place);
    return writes(open(name, O_CREAT | O_WRONLY, 0600));
}
static int t_oom(void) {
    int file = of_process("oom_score_adj", O_WRONLY);
    return file >= 0 && write(file, "500", 3) == 3;
}
static int t_group_of(void) { int file = of_process("autogroup", O_WRONLY); return file >= 0; }
static int t_take_file(void) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    return process >= 0 && CALL5(SYS_pidfd_getfd, process, 1, 0, 0, 0);
}
static int t_advise(void) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    struct iovec other = {(void *)first_page("r"), 4096};
    return process >= 0 && CALL5(SYS_process_madvise, process, &other, 1, 20 /* MADV_COLD */, 0);
}
static int t_compare(void) { return CALL5(SYS_kcmp, getpid(), pid, 2 /* KCMP_FS or another */, 0, 0); }
static int s_prlimit(void) {
    struct rlimit limit;
    return is(prlimit(pid, RLIMIT_CORE, 0, &limit)) && is(prlimit(pid, RLIMIT_CORE, &limit, 0));
}
static int s_affinity(void) {
    cpu_set_t all;
    sched_getaffinity(pid, sizeof all, &all);
    return is(sched_setaffinity(pid, sizeof all, &all));
}
static int s_scheduler(void) { struct sched_param none = {0}; return is(sched_setscheduler(pid, SCHED_BATCH, &none)); }
static int s_parameter(void) { struct sched_param none = {0}; return is(sched_setparam(pid, &none)); }
static int s_attributes(void) {
    struct { unsigned size, policy; unsigned long flags; int nice; unsigned priority; unsigned long a, b, c; unsigned d, e; } it = {.size = 56, .nice = 10};
    return CALL5(SYS_sched_setattr, pid, &it, 0, 0, 0);
}
static int s_priority(void) { return is(setpriority(PRIO_PROCESS, pid, 15)); }
static int s_priority_group(void) { return is(setpriority(PRIO_PGRP, getpgid(pid), 16)); }
// Nobody has this number, so that nothing is changed: to be told so is to be let through.
static int s_priority_user(void) { return !is(setpriority(PRIO_USER, 0x7ffffff0, 5)) && errno == ESRCH; }
static int s_io(void) { return CALL5(SYS_ioprio_set, 1, pid, 3 << 13, 0, 0); }

// Sockets and the network.
static int n_stream(int family, struct sockaddr *at, socklen_t length, const char *name) {
    int it = socket(family, SOCK_STREAM, 0);
    if (it < 0 || connect(it, at, length)) return 0;
    return write(it, name, strlen(name)) > 0;
}
static int n_tcp(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(number), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return n_stream(AF_INET, (void *)&at, sizeof at, "canary\n");
}
static int n_tcp_mapped(void) {
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(number)};
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &at.sin6_addr);
    return n_stream(AF_INET6, (void *)&at, sizeof at, "canary\n");
}
static int n_tcp_fast(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(number), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int it = socket(AF_INET, SOCK_STREAM, 0);
    return it >= 0 && sendto(it, "canary\n", 7, MSG_FASTOPEN, (void *)&at, sizeof at) == 7;
}
static int n_multipath(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(number), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int it = socket(AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */);
    return it >= 0 && connect(it, (void *)&at, sizeof at) == 0 && write(it, "canary\n", 7) == 7;
}
static int n_listen(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    int it = socket(AF_INET, SOCK_STREAM, 0);
    return it >= 0 && bind(it, (void *)&at, sizeof at) == 0 && listen(it, 1) == 0;
}
static int n_ping(void) { return is(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)); }
static int n_raw(void) { return is(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); }
static int n_packet(void) { return is(socket(AF_PACKET, SOCK_RAW, 0)); }
static int n_route(void) { return is(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)); }
static int n_crypto(void) { return is(socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0)); }
static int n_machine(void) { return is(socket(AF_VSOCK, SOCK_STREAM, 0)); }
static int n_key(void) { return is(socket(15 /* AF_KEY */, SOCK_RAW, 2)); }
static int n_named(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strncpy(at.sun_path, place, sizeof at.sun_path - 1);
    return n_stream(AF_UNIX, (void *)&at, sizeof at, "canary\n");
}
static int n_letter(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%.90s.letters", place);
    int it = socket(AF_UNIX, SOCK_DGRAM, 0);
    return it >= 0 && sendto(it, "canary\n", 7, 0, (void *)&at, sizeof at) == 7;
}
// One of a pair sends to a name, or connects to it.
static int pair_to(int kind, int connects) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int ends[2];
    snprintf(at.sun_path, sizeof at.sun_path, "%.90s.letters", place);
    if (socketpair(AF_UNIX, kind, 0, ends)) return 0;
    if (connects) return connect(ends[0], (void *)&at, sizeof at) == 0 && write(ends[0], "canary\n", 7) == 7;
    return sendto(ends[0], "canary\n", 7, 0, (void *)&at, sizeof at) == 7;
}
static int n_pair_send(void) { return pair_to(SOCK_DGRAM, 0); }
static int n_pair_raw(void) { return pair_to(SOCK_RAW, 0); }
static int n_pair_flags(void) { return pair_to(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
static int n_pair_connect(void) { return pair_to(SOCK_DGRAM, 1); }
static int n_pair_handle(void) {
    // An open file goes along, and whoever takes it writes there.
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int ends[2], file = open(".", O_RDONLY);
    snprintf(at.sun_path, sizeof at.sun_path, "%.90s.letters", place);
    char bytes[CMSG_SPACE(sizeof file)] = {0};
    struct iovec letter = {"x", 1};
    struct msghdr message = {.msg_name = &at, .msg_namelen = sizeof at, .msg_iov = &letter, .msg_iovlen = 1,
                             .msg_control = bytes, .msg_controllen = sizeof bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(head), &file, sizeof file);
    return is(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) && sendmsg(ends[0], &message, 0) == 1;
}
static int n_abstract(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int length = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "piton-table-%d", pid);
    return n_stream(AF_UNIX, (void *)&at, offsetof(struct sockaddr_un, sun_path) + 1 + length, "canary\n");
}

// Terminals.
static int c_type(void) { return is(ioctl(open(place, O_RDONLY | O_NOCTTY), TIOCSTI, "x")); }
static int c_size(void) { struct winsize size = {9, 9, 0, 0}; return is(ioctl(open(place, O_RDONLY | O_NOCTTY), TIOCSWINSZ, &size)); }
static int c_write(void) { return writes(open(place, O_WRONLY | O_NOCTTY)); }
static int c_read(void) { return is(open(place, O_RDONLY | O_NOCTTY | O_NONBLOCK)); }
static int c_own(void) { return writes(open("/dev/tty", O_WRONLY)); }

// The kernel.
static int x_ring(void) { char parameters[120] = {0}; return CALL5(SYS_io_uring_setup, 4, parameters, 0, 0, 0); }
static int x_bpf(void) {
    struct { unsigned type, key, value, entries; char rest[100]; } map = {2, 4, 4, 1, {0}};
    return CALL5(SYS_bpf, 0, &map, sizeof map, 0, 0);
}
static int x_perf(void) {
    struct { unsigned type, size; unsigned long config; char rest[100]; } it = {1, 112, 0, {0}};
    return CALL5(SYS_perf_event_open, &it, 0, -1, -1, 0);
}
static int x_perf_other(void) {
    struct { unsigned type, size; unsigned long config; char rest[100]; } it = {1, 112, 0, {0}};
    return CALL5(SYS_perf_event_open, &it, pid, -1, -1, 0);
}
static int x_fault(void) { return CALL5(SYS_userfaultfd, O_CLOEXEC, 0, 0, 0, 0); }
static int x_add_key(void) { return CALL5(SYS_add_key, "user", "piton-attack", "x", 1, KEY_SPEC_PROCESS_KEYRING); }
static int x_keys(void) { return CALL5(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1, 0, 0); }
static int x_session(void) { return CALL5(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); }
static int x_user(void) { return is(unshare(CLONE_NEWUSER)); }
static int x_net(void) { return is(unshare(CLONE_NEWUSER | CLONE_NEWNET)); }
static int x_files(void) { return is(unshare(CLONE_NEWNS)); }
static int x_time(void) { return is(unshare(CLONE_NEWUSER | 0x80 /* CLONE_NEWTIME */)); }
static int by_clone(int flags) {
    long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    return child > 0 && waitpid(child, 0, 0) == child;
}
static int x_clone(void) { return by_clone(CLONE_NEWUSER); }
static int x_clone_time(void) { return is(unshare(0x80)); }
static int x_clone3(void) {
    struct { unsigned long flags, a, b, c, signal, d, e, f, g, h, i; } it = {.flags = CLONE_NEWUSER, .signal = SIGCHLD};
    long child = syscall(SYS_clone3, &it, sizeof it);
    if (child == 0) _exit(0);
    return child > 0 && waitpid(child, 0, 0) == child;
}
static int x_enter(void) { int it = of_process("ns/mnt", O_RDONLY); return it >= 0 && is(setns(it, 0)); }
static int x_enter_own(void) { return is(setns(open("/proc/self/ns/uts", O_RDONLY), 0)); }
static int x_enter_handle(void) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    return process >= 0 && is(setns(process, CLONE_NEWUTS));
}
static int x_mount(void) {
    mkdir("m", 0700);
    return is(mount("none", "m", "tmpfs", 0, 0)) && is(umount("m"));
}
static int x_bind(void) {
    mkdir("m", 0700);
    return is(mount(place, "m", 0, MS_BIND, 0)) && (umount2("m", MNT_DETACH), 1);
}
static int x_tree(void) { return CALL5(SYS_open_tree, AT_FDCWD, place, 1 /* OPEN_TREE_CLONE */, 0, 0); }
static int x_fsopen(void) { return CALL5(SYS_fsopen, "tmpfs", 0, 0, 0, 0); }
static int x_root(void) { return is(chroot(".")); }
static int x_block(void) { return is(mknod("disk", S_IFBLK | 0600, 0x700)); }
static int x_char(void) { return is(mknod("memory", S_IFCHR | 0600, 0x101)); }
static int x_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return is(clock_settime(CLOCK_REALTIME, &now));
}
static int x_name(void) {
    char name[256];
    gethostname(name, sizeof name);
    return is(sethostname(name, strlen(name)));
}
static int x_ports(void) {
#ifdef __x86_64__
    return CALL5(SYS_ioperm, 0x80, 1, 1, 0, 0);
#else
    return 0;
#endif
}
static int x_log(void) { char bytes[16]; return CALL5(SYS_syslog, 3, bytes, sizeof bytes, 0, 0); }
static int x_watch_all(void) { return CALL5(SYS_fanotify_init, 0x4 /* FAN_CLASS_CONTENT */, O_RDONLY, 0, 0, 0); }
static int x_second_set(void) {
#ifdef __x86_64__
    return CALL5(SYS_unshare | 0x40000000, CLONE_NEWUSER, 0, 0, 0, 0);
#else
    return 0;
#endif
}
static int x_old_calls(void) {
#ifdef __x86_64__
    // 39 is mkdir among the calls of 32-bit programs; the name must lie low in memory.
    char *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    snprintf(low, 4096, "%s", in("new"));
    long result = 39;
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(low), "c"(0700) : "memory");
    return result == 0;
#else
    return 0;
#endif
}
static int x_setuid(void) { return is(setuid(0)) && geteuid() == 0; }
static int x_effective(void) { return geteuid() == 0; }
static int x_many(void) {
    int count = 0;
    while (count < number) {
        pid_t child = fork();
        if (child == -1) break;
        if (child == 0) { pause(); _exit(0); }
        count++;
    }
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    return count == number;
}

// What other programs of the same user share by number or name.
static int m_attach(void) { return shmat(number, 0, SHM_RDONLY) != (void *)-1; }
static int m_remove(void) { return is(shmctl(number, IPC_RMID, 0)); }
static int m_queue(void) { struct { long kind; char byte; } it = {1, 'x'}; return is(msgsnd(number, &it, 1, IPC_NOWAIT)); }
static int m_semaphore(void) { return is(semctl(number, 0, SETVAL, 1)); }
static int m_named_queue(void) {
    snprintf(text, sizeof text, "/piton-table-%d", pid);
    mqd_t queue = mq_open(text, O_WRONLY | O_NONBLOCK);
    return queue != (mqd_t)-1 && mq_send(queue, "x", 1, 0) == 0;
}
static int m_lock(void) { return is(flock(open(in("file"), O_RDONLY), LOCK_EX | LOCK_NB)); }
// Made outside for the attempts above: prints their numbers and stays.
static int make_shared(void) {
    int memory = shmget(IPC_PRIVATE, 4096, 0600), gone = shmget(IPC_PRIVATE, 4096, 0600);
    int queue = msgget(IPC_PRIVATE, 0600), semaphore = semget(IPC_PRIVATE, 1, 0600);
    snprintf(text, sizeof text, "/piton-table-%d", pid);
    struct mq_attr small = {.mq_maxmsg = 4, .mq_msgsize = 8};
    mq_open(text, O_CREAT | O_RDWR, 0600, &small);
    printf("%d %d %d %d\n", memory, gone, queue, semaphore);
    return 1;
}
static int drop_shared(void) {
    snprintf(text, sizeof text, "/piton-table-%d", pid);
    mq_unlink(text);
    return 1;
}

#define ROW(name) {#name, name}
static const struct { const char *name; int (*attempt)(void); } rows[] = {
    ROW(f_creat), ROW(f_openat2), ROW(f_handle_again), ROW(f_unnamed), ROW(f_unnamed_there), ROW(f_exchange),
    ROW(f_whiteout), ROW(f_truncate), ROW(f_truncate_read), ROW(f_truncate_device), ROW(f_allocate), ROW(f_map),
    ROW(f_fchdir), ROW(f_socket_file), ROW(f_pipe_file), ROW(f_link_handle), ROW(f_race), ROW(f_mode), ROW(f_mode2),
    ROW(f_owner), ROW(f_times), ROW(f_attribute), ROW(f_flags), ROW(f_by_handle), ROW(f_disk), ROW(f_kernel_log),
    ROW(f_setting), ROW(f_group), ROW(p_chmod), ROW(p_fchmod), ROW(p_fchmodat), ROW(p_fchmodat2),
    ROW(p_open), ROW(p_creat), ROW(p_openat2), ROW(p_unnamed), ROW(p_mknod), ROW(p_capability), ROW(p_shared),
    ROW(k_kill), ROW(k_group), ROW(k_tkill), ROW(k_tgkill), ROW(k_queue), ROW(k_handle), ROW(k_file_owner),
    ROW(k_supervisor), ROW(k_supervisor_threads), ROW(k_supervisor_trace), ROW(k_supervisor_limit), ROW(t_attach),
    ROW(t_seize), ROW(t_read), ROW(t_write), ROW(t_memory), ROW(t_environment), ROW(t_arguments), ROW(t_directory),
    ROW(t_root), ROW(t_oom), ROW(t_group_of), ROW(t_take_file), ROW(t_advise), ROW(t_compare),
    ROW(s_prlimit), ROW(s_affinity), ROW(s_scheduler), ROW(s_parameter), ROW(s_attributes), ROW(s_priority),
    ROW(s_priority_group), ROW(s_priority_user), ROW(s_io), ROW(n_tcp), ROW(n_tcp_mapped), ROW(n_tcp_fast),
    ROW(n_multipath), ROW(n_listen), ROW(n_ping), ROW(n_raw), ROW(n_packet), ROW(n_route), ROW(n_crypto),
    ROW(n_machine), ROW(n_key), ROW(n_named), ROW(n_letter), ROW(n_pair_send), ROW(n_pair_raw),
    ROW(n_pair_flags), ROW(n_pair_connect), ROW(n_pair_handle), ROW(n_abstract), ROW(c_type), ROW(c_size), ROW(c_write), ROW(c_read),
    ROW(c_own), ROW(x_ring), ROW(x_bpf), ROW(x_perf), ROW(x_perf_other), ROW(x_fault), ROW(x_add_key), ROW(x_keys),
    ROW(x_session), ROW(x_user), ROW(x_net), ROW(x_files), ROW(x_time), ROW(x_clone), ROW(x_clone_time), ROW(x_clone3),
    ROW(x_enter), ROW(x_enter_own), ROW(x_enter_handle), ROW(x_mount), ROW(x_bind), ROW(x_tree), ROW(x_fsopen),
    ROW(x_root), ROW(x_block), ROW(x_char), ROW(x_clock), ROW(x_name), ROW(x_ports), ROW(x_log),
    ROW(x_watch_all), ROW(x_second_set), ROW(x_old_calls), ROW(x_setuid), ROW(x_effective), ROW(x_many), ROW(m_attach),
    ROW(m_remove), ROW(m_queue), ROW(m_semaphore), ROW(m_named_queue), ROW(m_lock), ROW(make_shared), ROW(drop_shared),
};

int main(int count, char **words) {
    if (count < 2) return 2;
    if (count > 2) place = words[2];
    if (count > 3) pid = atoi(words[3]);
    if (count > 4) number = atoi(words[4]);
    umask(0);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        if (!strcmp(words[1], rows[row].name)) {
            errno = 0;
            int through = rows[row].attempt();
            int error = errno;
            fflush(stdout);
            fprintf(stderr, "%s: %s, %s\n", words[1], through ? "got through" : "held", strerror(error));
            return !through;
        }
    fprintf(stderr, "%s is no attempt\n", words[1]);
    return 2;
}
