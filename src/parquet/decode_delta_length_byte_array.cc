// DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes.

#include <vector>

#include "parquet/decoders.h"
#include "parquet/string_ref_load.h"

namespace petalite::parquet {

Status DecodeDeltaLengthByteArray(Bytes in, size_t count, StringRef* out) {
  std::vector<uint32_t> lengths(count);
  size_t consumed = 0;
  RETURN_IF_ERROR(DecodeDeltaBinaryPacked(in, count, lengths.data(), &consumed));
  const uint8_t* at = in.data() + consumed;
  const uint8_t* const end = in.data() + in.size();
  for (size_t i = 0; i < count; ++i) {
    const uint32_t length = lengths[i];
    const auto left = static_cast<size_t>(end - at);
    if (length > left) return Corruption("DELTA_LENGTH_BYTE_ARRAY: string {} of {} bytes exceeds the page", i, length);
    out[i] = left >= kStringRefReads ? LoadStringRef(at, length) : StringRef(at, length);
    at += length;
  }
  return Status::Ok();
}

}  // namespace petalite::parquet
