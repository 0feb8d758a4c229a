// Small contact scenes and a way to run them, for tests that compare with arithmetic.
#pragma once

#include <string>

#include "capstan/step/step.h"

namespace capstan::test {

constexpr double kGravity = 9.81;
constexpr ContactLaw kLaws[] = {ContactLaw::sap, ContactLaw::lagged, ContactLaw::similar,
                                ContactLaw::regularized_lagged};
inline const char* const kLawNames[] = {"sap", "lagged", "similar", "regularized_lagged"};

ShapeInstance make_shape(const std::string& name, const std::string& body, const Shape& shape,
                         double mass = 0);

Body free_body(const std::string& name, const Vec3& position);

// A 1 kg cube of 10 cm on the plane z = 0; both surfaces of stiffness 2 k, so that the contact has k.
Scene box_on_plane(double friction, double stiffness);

// Boxes in pairs, one dropped a little askew on the other, `columns` pairs in a row: as many islands as
// pairs.
Scene boxes_in_pairs(int pairs, int columns);

// Two pads that slide along x, `distance` from the middle.
void add_pads(double distance, double mass, Scene* scene);

// Balls and cubes by turns, four in a layer, that fall into a bin: `count` bodies in the end touch.
Scene falling_heap(int count);

struct Simulation {
  Model model;
  State state;
  Workspace workspace;
  StepOptions options;
  Report report;
  Input input;

  Simulation(const Scene& scene, double dt, ContactLaw law);
  void go(double duration);
};

}  // namespace capstan::test
