// Problems of rigid contact as files, to be solved again, here or elsewhere.
//
//   JSON     all that RigidProblem is made of: W without compliance, velocities without impulses, and what is
//            given of every block. Any model can be made of it
//   fclib    (HDF5) a local problem of FCLIB 3, the library of frictional contact problems: W in compressed
//            columns, q, mu, normal rows first. Of contacts only: fclib has no bounds for scalars
//
// Limits: W is dense in JSON; 100 contacts are 2 MB.
#pragma once

#include <string>

#include "capstan/rigid/rigid_problem.h"

namespace capstan {

struct RigidDump {
  std::string scene;  // for people
  long step = 0;
  double time = 0, dt = 0;  // [s]
  MatX W;                   // [rows, rows] without R
  VecX free;                // [rows]
  std::vector<RigidBlock> blocks;

  RigidProblem make(const RigidOptions& options) const;
  int num_contacts() const;
};

RigidDump make_dump(const RigidProblem& problem);
std::string to_json(const RigidDump& dump);
// Throws InputError with file and remedy.
RigidDump read_rigid_dump(const std::string& path);
// False, and nothing is written, where the problem has scalars. Throws OutputError.
bool write_fclib(const std::string& path, const RigidProblem& problem, const RigidDump& dump);

}  // namespace capstan
