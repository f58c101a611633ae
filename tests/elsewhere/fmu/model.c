/* A Functional Mock-up Unit of FMI 2.0: y = k sin(u) v and z = u + v^2, with references u 0, v 1, k 2, y 3, z 4.
   WRONG: dz/dv is 5 % off. CRASH: a derivative at v > 5 is a wild pointer. */
#include <math.h>
#include <stdlib.h>

typedef double Model[5];

void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *place, const void *f, int v, int log) {
    double *at = calloc(1, sizeof(Model));
    at[1] = 1;
    at[2] = 2;
    return at;
}
void fmi2FreeInstance(void *at) { free(at); }

int fmi2SetReal(double *at, const unsigned *refs, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++)
        at[refs[i]] = x[i];
    return 0;
}
int fmi2GetReal(double *at, const unsigned *refs, size_t n, double *x) {
    at[3] = at[2] * sin(at[0]) * at[1];
    at[4] = at[0] + at[1] * at[1];
    for (size_t i = 0; i < n; i++)
        x[i] = at[refs[i]];
    return 0;
}
int fmi2GetDirectionalDerivative(double *at, const unsigned *unknown, size_t m, const unsigned *known, size_t n,
                                 const double *direction, double *out) {
    double dy[3] = {at[2] * cos(at[0]) * at[1], at[2] * sin(at[0]), sin(at[0]) * at[1]}, dz[3] = {1, 2 * at[1], 0};
#ifdef WRONG
    dz[1] *= 1.05;
#endif
#ifdef CRASH
    if (at[1] > 5)
        *(volatile int *)0 = 1;
#endif
    for (size_t i = 0; i < m; i++) {
        out[i] = 0;
        for (size_t j = 0; j < n; j++)
            out[i] += (unknown[i] == 3 ? dy : dz)[known[j]] * direction[j];
    }
    return 0;
}

const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
#define OK(name) int fmi2##name(void) { return 0; }
OK(SetDebugLogging) OK(SetupExperiment) OK(EnterInitializationMode) OK(ExitInitializationMode) OK(Terminate) OK(Reset)
#define NONE(name) int fmi2##name(void) { return 3; }
NONE(CancelStep) NONE(DoStep) NONE(SetRealInputDerivatives) NONE(GetRealOutputDerivatives) NONE(GetStatus)
NONE(GetRealStatus) NONE(GetIntegerStatus) NONE(GetBooleanStatus) NONE(GetStringStatus) NONE(GetInteger)
NONE(GetBoolean) NONE(GetString) NONE(SetInteger) NONE(SetBoolean) NONE(SetString) NONE(GetFMUstate)
NONE(SetFMUstate) NONE(FreeFMUstate) NONE(SerializedFMUstateSize) NONE(SerializeFMUstate) NONE(DeSerializeFMUstate)
