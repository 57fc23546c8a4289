// The version of Petalite, as `petalite --version` and a file's created_by give it.

#pragma once

#define PETALITE_VERSION "0.1.0"
