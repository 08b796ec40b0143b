#include "fortran/sentinels.hpp"

HrFSentinels hr_f_sentinels;
HrFStringSentinels hr_f_string_sentinels;
MPI_F08_status hr_f_status_ignore;
MPI_F08_status hr_f_statuses_ignore[1];
