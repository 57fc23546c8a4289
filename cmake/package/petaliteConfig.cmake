# find_package(petalite) gives the target petalite::petalite.
include(${CMAKE_CURRENT_LIST_DIR}/petaliteTargets.cmake)
