// A runtime that lacks most functions, as after an update that stopped halfway.
extern "C" __attribute__((visibility("default"))) int hipInit(unsigned) { return 0; }
