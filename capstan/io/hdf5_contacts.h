// Contacts of a recording, added to a closed HDF5 log of the same frames (io/log.h).
#pragma once

#include <string>
#include <vector>

#include "capstan/io/recording.h"

namespace capstan {

// Datasets: contact_begin [frames + 1], where the contacts of each frame begin, and with a row for each
// contact contact_shape [n, 2], contact_region [n] (0 open, 1 sticking, 2 sliding), contact_point,
// contact_normal, contact_force [n, 3] and contact_distance [n]. Throws OutputError.
void add_hdf5_contacts(const std::string& path, const std::vector<std::int64_t>& begin,
                       const std::vector<RecordedContact>& contacts);

}  // namespace capstan
