// A name that programs look for, and nothing else: the library is the one that this one needs.
typedef int hr_no_empty_file;
