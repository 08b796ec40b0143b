// This library is only a name that programs look for; it loads the actual library.
typedef int hr_no_empty_file;
