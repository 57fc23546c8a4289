// Which encoding a chunk's data pages get.

#pragma once

#include <optional>

#include "parquet/bounds.h"
#include "parquet/column_buffer.h"
#include "parquet/dictionary_builder.h"
#include "parquet/metadata.h"
#include "parquet/writer.h"

namespace petalite::parquet {

// kAuto prefers, in this order: a dictionary, where it and its codes take at most 70 % of the plain
// bytes (a reader gains by it: it compares codes); DELTA_BINARY_PACKED, where values ascend and it
// takes at most half of the best of the others (it decodes slower than they do); PLAIN.

// The dictionary of the buffer's values, where the choice allows one and it is worth having.
// `bounds`: of all values, where they are known already.
std::optional<ChunkDictionary> TryDictionary(const ColumnBuffer& buffer, EncodingChoice choice,
                                             const std::optional<Bounds>& bounds);

// Of the data pages, given what TryDictionary returned.
Encoding ChooseEncoding(const ColumnBuffer& buffer, EncodingChoice choice,
                        const std::optional<ChunkDictionary>& dictionary);

}  // namespace petalite::parquet
