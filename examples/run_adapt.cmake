# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=<adapt> -DPYTHON=<python3> -DFIXTURES=<fixtures.py> -DWORK=<folder> -P run_adapt.cmake
# The example on a tiny model and two dozen pictures, made for it.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/data)
foreach(step
    "${PYTHON};${FIXTURES};${WORK}"
    "${CMAKE_COMMAND};-E;rename;${WORK}/train;${WORK}/data/train"
    "${CMAKE_COMMAND};-E;rename;${WORK}/val;${WORK}/data/val"
    "${PROGRAM};${WORK}/tiny.onnx;${WORK}/data;${WORK}/run")
  execute_process(COMMAND ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT EXISTS ${WORK}/run/report.html)
  message(FATAL_ERROR "the run wrote no report")
endif()
