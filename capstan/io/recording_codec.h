// The bytes of a recording's chunks (recording.h). Decoders throw std::runtime_error, with what is wrong,
// when bytes do not fit; they never read beyond them.
#pragma once

#include <cstdint>
#include <vector>

#include "capstan/io/recording.h"

namespace capstan {

using Bytes = std::vector<std::uint8_t>;

Bytes encode_header(const RecordingHeader& header);
RecordingHeader decode_header(const Bytes& bytes);

Bytes encode_frames(const RecordingHeader& sizes, const std::vector<RecordedFrame>& frames);
std::vector<RecordedFrame> decode_frames(const RecordingHeader& sizes, const Bytes& bytes);

// zlib; unpack() fails unless exactly raw_bytes come out.
Bytes pack(const Bytes& raw);
Bytes unpack(const Bytes& packed, std::size_t raw_bytes);

}  // namespace capstan
