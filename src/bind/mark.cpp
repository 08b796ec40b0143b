// The mark by which mpiexec knows our libraries from another MPI's that were installed over them: a note in the ELF
// file, found in its first page (launcher/foreign_library.cpp). Its owner's length and name, no text, type 1.
__asm__(
    ".pushsection .note.headrace, \"a\", @note\n"
    ".balign 4\n"
    ".long 9, 0, 1\n"
    ".asciz \"Headrace\"\n"
    ".balign 4\n"
    ".popsection\n");
