// This library only provides a name that programs look for; it loads the actual library.
typedef int hr_no_empty_file;
