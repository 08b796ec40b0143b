# Headrace's mpiexec on hosts made of namespaces.
if(COMMAND hr_namespace_test)
  foreach(part IN ITEMS Places Programs Output Input Words Ends Starts Faults)
    string(TOLOWER ${part} name)
    hr_namespace_test(namespaces_mpiexec_${name} HOSTS 4 TIMEOUT 400 PROCESSORS 1
                      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_mpiexec.py ${part})
  endforeach()
  hr_namespace_test(namespaces_mpiexec_slurm HOSTS 4 SLURM TIMEOUT 200
                    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_mpiexec.py Slurm)
endif()
