# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build folder> -DSOURCE=<consumer> -DCXX=<compiler> -P run_consumer.cmake
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
foreach(step
    "${CMAKE_COMMAND};--install;${BUILD};--prefix;${work}/prefix"
    "${CMAKE_COMMAND};-S;${SOURCE};-B;${work}/build;-G;Ninja;-DCMAKE_PREFIX_PATH=${work}/prefix;-DCMAKE_CXX_COMPILER=${CXX}"
    "${CMAKE_COMMAND};--build;${work}/build"
    "${work}/build/consumer")
  execute_process(COMMAND ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
