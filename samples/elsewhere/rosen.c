/* Rosenbrock's function and its gradient for gradcli, in lines of JSON; see gradcli-protocol(7).
   cc rosen.c -o rosen; gradcli gradcheck cmd:./rosen x0=[1.2,2] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return the number that follows a key; store the one after it in `next`, unless that is NULL. */
static double after(char *line, const char *key, double *next) {
    char *at = strstr(line, key) + strlen(key);
    double first = strtod(at + strspn(at, "[ "), &at);
    if (next) *next = strtod(at + 1, NULL);
    return first;
}

int main(void) {
    static char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        if (strstr(line, "\"method\":\"ModelInfo\""))
            puts("{\"support\":{\"Evaluate\":true,\"Gradient\":true}}");
        else if (strstr(line, "\"method\":\"InputSizes\""))
            puts("{\"inputSizes\":[2]}");
        else if (strstr(line, "\"method\":\"OutputSizes\""))
            puts("{\"outputSizes\":[1]}");
        else {
            double y, x = after(line, "\"input\":", &y), d = y - x * x;
            if (strstr(line, "\"method\":\"Evaluate\"")) {
                printf("{\"output\":[[%.17g]]}\n", (1 - x) * (1 - x) + 100 * d * d);
            } else {
                double s = after(line, "\"sens\":", NULL);
                printf("{\"output\":[%.17g,%.17g]}\n", s * (-2 * (1 - x) - 400 * x * d), s * 200 * d);
            }
        }
        fflush(stdout);
    }
    return 0;
}
