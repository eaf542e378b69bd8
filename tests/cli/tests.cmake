# SPDX-License-Identifier: Apache-2.0
# Tests of the program: transcripts, the reference page, and real networks.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(runner ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cli/run_transcripts.py $<TARGET_FILE:tandem_cli>)
file(GLOB transcripts CONFIGURE_DEPENDS cli/*.transcript)
foreach(transcript ${transcripts})
  get_filename_component(name ${transcript} NAME_WE)
  add_test(NAME cli_${name} COMMAND ${runner} ${transcript})
  set_tests_properties(cli_${name} PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT}")
endforeach()
add_test(NAME cli_reference COMMAND sh -c "$1 help --markdown | diff docs/cli.md -" sh $<TARGET_FILE:tandem_cli>
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(cli_reference PROPERTIES LABELS unit ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT}")
add_test(NAME cli_e2e COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cli/e2e.py $<TARGET_FILE:tandem_cli>)
set_tests_properties(cli_e2e PROPERTIES LABELS slow TIMEOUT 1800 SKIP_RETURN_CODE 77
                     ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT}")
add_test(NAME cli_e2e_adapt COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cli/e2e_adapt.py
         $<TARGET_FILE:tandem_cli> ${CMAKE_CURRENT_BINARY_DIR}/e2e_adapt)
set_tests_properties(cli_e2e_adapt PROPERTIES LABELS slow TIMEOUT 1800 SKIP_RETURN_CODE 77
                     ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT}")
add_dependencies(tandem_test_programs tandem_cli)
