// The contacts of a run as a CSV table: a row for each contact of each logged step, with the forces of
// step/contact_forces.h (in newtons, on b, world frame).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "capstan/step/contact_forces.h"

namespace capstan {

class ContactLog {
 public:
  explicit ContactLog(const std::string& path);  // replaces an old file; throws OutputError as all do
  ~ContactLog();
  ContactLog(const ContactLog&) = delete;
  ContactLog& operator=(const ContactLog&) = delete;

  // The contacts of the step that led to `time`.
  void append(const Model& model, double time, const Workspace& workspace);
  void close();  // what was appended is in the file
  long num_rows() const { return num_rows_; }

 private:
  void write();
  std::string path_, text_;
  FILE* file_ = nullptr;
  long num_rows_ = 0;
  std::vector<ContactForce> forces_;
};

}  // namespace capstan
