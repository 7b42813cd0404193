// A stand-in for NVRTC: its "PTX" is a list of what it was given. The source `wrong` is a wrong one, and the
// option `--unknown` an unknown one. Each compilation adds a line to the file that NVRTC_STAND_IN_CALLS
// names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char text[4096], log[256], name[256]; int compiled; } *Program;

int nvrtcVersion(int* major, int* minor) { *major = 13, *minor = 9; return 0; }
const char* nvrtcGetErrorString(int status) {
    return status == 5 ? "NVRTC_ERROR_INVALID_OPTION" : status == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR unknown";
}
int nvrtcGetNumSupportedArchs(int* count) { *count = 2; return 0; }
int nvrtcGetSupportedArchs(int* all) { all[0] = 75, all[1] = 90; return 0; }

int nvrtcCreateProgram(Program* program, const char* source, const char* name, int count, const char* const* headers,
                       const char* const* names) {
    Program made = *program = calloc(1, sizeof **program);
    sprintf(made->text, "source %s: %s\n", name, source);
    for (int i = 0; i < count; ++i) sprintf(made->text + strlen(made->text), "header %s: %s\n", names[i], headers[i]);
    return 0;
}
int nvrtcDestroyProgram(Program* program) { free(*program); *program = NULL; return 0; }
int nvrtcAddNameExpression(Program program, const char* expression) {
    sprintf(program->text + strlen(program->text), "name %s\n", expression);
    return 0;
}
int nvrtcCompileProgram(Program program, int count, const char* const* options) {
    const char* calls = getenv("NVRTC_STAND_IN_CALLS");
    FILE* file = calls ? fopen(calls, "a") : NULL;
    if (file) fprintf(file, "compiled\n"), fclose(file);
    strcpy(program->log, "a warning");
    for (int i = 0; i < count; ++i) {
        sprintf(program->text + strlen(program->text), "option %s\n", options[i]);
        if (!strcmp(options[i], "--unknown")) { strcpy(program->log, "unrecognized --unknown"); return 5; }
    }
    if (strstr(program->text, ": wrong\n")) { strcpy(program->log, "a.cu(1): error"); return 6; }
    program->compiled = 1;
    return 0;
}
int nvrtcGetLoweredName(Program program, const char* expression, const char** name) {
    if (!program->compiled) return 9;
    sprintf(program->name, "_Z%s", expression);
    *name = program->name;
    return 0;
}
int nvrtcGetPTXSize(Program program, size_t* bytes) { *bytes = strlen(program->text) + 1; return program->compiled ? 0 : 4; }
int nvrtcGetPTX(Program program, char* ptx) { strcpy(ptx, program->text); return 0; }
int nvrtcGetProgramLogSize(Program program, size_t* bytes) { *bytes = strlen(program->log) + 1; return 0; }
int nvrtcGetProgramLog(Program program, char* log) { strcpy(log, program->log); return 0; }
