// What fork_client.py does as a program, in 1 ms instead of 13 ms: `fork_client SOCKET PYTHON WORDS...`.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 64, MOST_VARIABLES = 256 };
extern char **environ;
static char *text;
static size_t length, room;

static void append(const char *part, size_t size) {
    if (length + size > room)
        text = realloc(text, room = 2 * (length + size));
    memcpy(text + length, part, size);
    length += size;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

// Return whether the variables that only a new process reads have the values with which the server was started.
static int can_fork(void) {
    static const char *const prefixes[] = {AT_START};
    const char *expected = getenv(EXPECTED);
    char *found[MOST_VARIABLES];
    size_t count = 0;
    if (!expected)
        return 1;
    for (char **entry = environ; *entry; entry++)
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes && count < MOST_VARIABLES; k++)
            if (!strncmp(*entry, prefixes[k], strlen(prefixes[k]))) {
                found[count++] = *entry;
                break;
            }
    qsort(found, count, sizeof *found, compare);
    for (size_t k = 0; k < count; k++) {
        append(found[k], strlen(found[k]));
        append("\n", 1);
    }
    append("", 1);
    length = 0;
    return !strcmp(expected, text);
}

static int failed(const char *what) {
    perror(what);
    return 70;
}

int main(int argc, char **argv) {
    char number[32], folder[1 << 14], size[9], answer[64] = "";
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(MOST * sizeof(int))];
    } control;
    int numbers[MOST], count = 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!can_fork()) {
        char **words = calloc(argc + 2, sizeof *words);
        words[0] = argv[2], words[1] = "-m", words[2] = "gradcli";
        memcpy(words + 3, argv + 3, (argc - 3) * sizeof *words);
        execv(words[0], words);
        return failed(words[0]);
    }
    if (!getcwd(folder, sizeof folder))
        *folder = 0;
    append(folder, strlen(folder) + 1);
    for (int k = 0; k < 256 && count < MOST; k++)
        if (fcntl(k, F_GETFD) != -1) {
            numbers[count++] = k;
            append(number, snprintf(number, sizeof number, "%d ", k));
        }
    append("", 1);
    append(number, snprintf(number, sizeof number, "%d", argc - 3) + 1);
    for (int k = 3; k < argc; k++)
        append(argv[k], strlen(argv[k]) + 1);
    for (char **entry = environ; *entry; entry++)
        append(*entry, strlen(*entry) + 1);

    int channel = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    if (connect(channel, (struct sockaddr *)&address, sizeof address))
        return failed(argv[1]);
    snprintf(size, sizeof size, "%8zu", length);
    struct iovec part = {size, 8};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = &control, message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), numbers, count * sizeof(int));
    }
    if (sendmsg(channel, &message, 0) != 8)
        return failed("sendmsg");
    for (size_t sent = 0; sent < length;) {
        ssize_t more = write(channel, text + sent, length - sent);
        if (more < 0)
            return failed("write");
        sent += more;
    }
    for (int k = 0; k < count; k++)
        close(numbers[k]);
    if (read(channel, answer, sizeof answer - 1) <= 0)
        return 70;
    int code = atoi(answer);
    _exit(code >= 0 ? code : 128 - code);
}
