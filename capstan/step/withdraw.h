// Contacts that hold apart what would not have met are taken back.
//
// A contact between shapes that are apart when the step begins is a guess of where they meet
// (contacts/meet.h), made with the free motion. If it has an impulse although the shapes are apart where the
// answer leads, the guess is put to the test: the pair's own impulses are taken away, v' = v - A^-1 J^T
// gamma, and v' is followed. If the shapes do not meet, their contacts are withdrawn; if they meet elsewhere,
// so that the new contact would leave them apart by more than a little at v, it takes the place of the old
// ones.
//
// What stands on something falls through it in free motion, by g dt^2: a slow box that comes to the next slat
// of a floor takes its side for a wall then, as it is a shorter way back than up. A contact that brings the
// shapes together is put to the test, too, where one of them stands on something: if v', or the velocities of
// the beginning, lead to another surface of them, no deeper than they stand in others, its contact takes the
// place of the old one.
#pragma once

#include "capstan/contacts/contacts.h"
#include "capstan/contacts/late_contacts.h"
#include "capstan/problem/problem.h"
#include "capstan/solvers/newton.h"

namespace capstan {

struct WithdrawWorkspace {
  struct Entry {
    int shape_a, shape_b, contact, group;  // group of the problem
  };
  std::vector<Entry> entries;  // contacts that may be false, by pairs of shapes
  VecX v;                      // [dofs] the answer that is looked at
  VecX change, v_without;      // [dofs] of one pair, as far as its trees go: A^-1 J^T gamma, v'
  std::vector<ContactPoint> scratch, points;
  std::vector<int> stands;  // contacts with which the pair's links stand on something
  std::vector<int> groups;  // of the problem, that changed
  // What passed the test before in this step: the answer then, and as many contacts as there were.
  bool has_before = false;
  VecX v_before;
  std::vector<Vec3> impulse_before;
  std::vector<char> is_moved;  // [objects] whether its velocities are others than then
};

// Begins a step, or forgets what was tested in it.
void begin_withdrawal(WithdrawWorkspace* workspace);

// Looks at the answer in `newton`, which leads to `late.V`. Of laws that glide (Forecast) only contacts
// without friction are looked at: others act at a distance. Whether any contact was withdrawn: the problem
// and the answer are changed accordingly, and contacts that took the place of others are the last groups of
// `contacts`, not yet in the problem.
bool withdraw_contacts(const Model& model, const CollisionWorkspace& collision, const LateWorkspace& late,
                       bool glides, const VecX& v_moving, WithdrawWorkspace* workspace, Contacts* contacts,
                       Problem* problem, NewtonWorkspace* newton);

}  // namespace capstan
