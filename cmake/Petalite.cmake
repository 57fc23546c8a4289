# What every target of the project shares: the language, the warnings, the sanitizers, and the
# functions that declare a layer, its tests, a benchmark and a fuzzer.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness lets it cache what is compiled with a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# CHECK stays on everywhere. -O3 where decoders and kernels live from vectorized loops (petalite_layer's HOT).
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

add_library(petalite_flags INTERFACE)
target_compile_options(petalite_flags INTERFACE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers
                                                -fno-omit-frame-pointer -march=x86-64-v2)
target_include_directories(petalite_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(PETALITE_SANITIZE)
  target_compile_options(petalite_flags INTERFACE -fsanitize=${PETALITE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(petalite_flags INTERFACE -fsanitize=${PETALITE_SANITIZE})
endif()
if(PETALITE_FUZZ)
  target_compile_options(petalite_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_package(Threads REQUIRED)

# petalite_layer(NAME [HOT] [DEPENDS layer…] [LIBRARIES lib…]): the static library of src/NAME. A file whose
# name ends in _avx2.cc or _avx512.cc is compiled for that instruction set; only code that was
# chosen at run time may call into it.
function(petalite_layer name)
  cmake_parse_arguments(ARG "HOT" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(TRANSFORM ARG_DEPENDS PREPEND petalite_)
  if(NOT sources)  # not written yet
    add_library(petalite_${name} INTERFACE)
    target_link_libraries(petalite_${name} INTERFACE petalite_flags ${ARG_DEPENDS})
    return()
  endif()
  add_library(petalite_${name} STATIC ${sources})
  target_link_libraries(petalite_${name} PUBLIC petalite_flags ${ARG_DEPENDS} Threads::Threads PRIVATE ${ARG_LIBRARIES})
  if(ARG_HOT)
    target_compile_options(petalite_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O3>)
  endif()
  foreach(source ${sources})
    if(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mbmi;-mbmi2")
    elseif(source MATCHES "_avx512\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx2;-mbmi;-mbmi2;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vbmi;-mprefer-vector-width=512")
    endif()
  endforeach()
endfunction()

# petalite_tests(LAYER [LIBRARIES lib…]): every tests/LAYER/*_test.cc in one program.
function(petalite_tests layer)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_executable(petalite_${layer}_tests ${sources})
  target_include_directories(petalite_${layer}_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(petalite_${layer}_tests PRIVATE
    PETALITE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_link_libraries(petalite_${layer}_tests PRIVATE petalite_${layer} GTest::gmock GTest::gtest_main ${ARG_LIBRARIES})
  gtest_discover_tests(petalite_${layer}_tests TEST_PREFIX ${layer}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
