# DuckDB as `./run setup` unpacked it: the prebuilt libduckdb.so, and the C++ headers of the same version.
set(PETALITE_DUCKDB_VERSION 1.5.5)
if(NOT PETALITE_DUCKDB_DIR)
  if(DEFINED ENV{PETALITE_CACHE})
    set(cache $ENV{PETALITE_CACHE})
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(cache $ENV{XDG_CACHE_HOME}/petalite)
  else()
    set(cache $ENV{HOME}/.cache/petalite)
  endif()
  set(PETALITE_DUCKDB_DIR ${cache}/duckdb-${PETALITE_DUCKDB_VERSION})
endif()
if(NOT EXISTS ${PETALITE_DUCKDB_DIR}/lib/libduckdb.so)
  message(FATAL_ERROR "DuckDB ${PETALITE_DUCKDB_VERSION} is not at ${PETALITE_DUCKDB_DIR}: run './run setup', "
                      "or build the store alone with -DPETALITE_SQL=OFF")
endif()

add_library(duckdb SHARED IMPORTED)
set_target_properties(duckdb PROPERTIES
  IMPORTED_LOCATION ${PETALITE_DUCKDB_DIR}/lib/libduckdb.so
  IMPORTED_NO_SONAME FALSE)
# SYSTEM, because the headers are not ours to keep free of warnings.
target_include_directories(duckdb SYSTEM INTERFACE ${PETALITE_DUCKDB_DIR}/include)
# Of its third parties only those that the headers we include name: others (fmt) would hide Debian's.
foreach(folder utf8proc/include re2 fsst fastpforlib concurrentqueue)
  target_include_directories(duckdb SYSTEM INTERFACE ${PETALITE_DUCKDB_DIR}/third_party/${folder})
endforeach()
