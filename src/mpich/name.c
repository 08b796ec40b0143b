// Only a name that programs look for: the library is the one that this one needs.
typedef int hr_no_empty_file;
