// The mark by which mpiexec distinguishes Headrace's libraries from those of another MPI installed over them: a note in
// the first page of the ELF file (launcher/program/foreign_library.cpp). It has an owner name, an empty description,
// and type 1.
__asm__(
    ".pushsection .note.headrace, \"a\", @note\n"
    ".balign 4\n"
    ".long 9, 0, 1\n"
    ".asciz \"Headrace\"\n"
    ".balign 4\n"
    ".popsection\n");
