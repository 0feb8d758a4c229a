// What `capstan check` tells of patches, by the real program.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/apps/program.h"

namespace capstan::test {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "in:\n" << (text)

TEST(Check, TellsSoftBodiesThatTouchAtPoints) {
  const Folder folder;
  write_text(folder / "gels.yaml", R"(capstan: 1
materials: [{name: gel, contact: patch, elastic_modulus: 1e6}]
soft_bodies:
  - {name: a, box: {size: [0.1, 0.1, 0.1], cells: [3, 3, 3]}, young_modulus: 1e5, density: 1000, material: gel, self_contact: true}
  - {name: b, box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, young_modulus: 1e5, density: 1000, material: gel, position: [0, 0, 0.2]}
  - {name: c, box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, young_modulus: 1e5, density: 1000, position: [0, 0, 0.4]}
)");
  const Outcome outcome = folder.capstan("check gels.yaml");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_HAS(outcome.err,
             "note: soft bodies touch themselves at points, also where they ask for patches: 'a'");
  EXPECT_HAS(outcome.err,
             "note: soft bodies touch each other over patches if both ask for it: 'a' and 'c' do not");
  EXPECT_EQ(outcome.err.find("'a' and 'b'"), std::string::npos) << outcome.err;
}

TEST(Check, TellsPairsThatHaveNoPatch) {
  const Folder folder;
  write_text(folder / "pads.yaml", R"(capstan: 1
materials: [{name: soft, contact: patch, elastic_modulus: 1e6}, {name: plain, stiffness: 1e6}]
bodies:
  - {name: a, position: [0, 0, 0.0499], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1, material: soft}}
  - {name: b, position: [1, 0, 0.05], joint: free, shape: {type: box, size: [0.1, 0.1, 0.1], mass: 1, material: plain}}
shapes: [{type: height_field, name: ground, size: [4, 4], base: 0.5, heights: [[0, 0], [0, 0]], material: soft}]
)");
  const Outcome outcome = folder.capstan("check pads.yaml --strict");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_HAS(outcome.err, "note: shape 'ground' is rigid in patches");
  EXPECT_HAS(outcome.err, "note: 2 pairs of shapes touch at points although one asks for patches");
  EXPECT_HAS(outcome.err, "'b_box' has no patches");
  // E A d / H = 1e6 * 0.01 * 1e-4 / 0.05, less the rim.
  const Outcome contacts = folder.capstan("contacts pads.yaml");
  EXPECT_HAS(contacts.out, "patches: area [cm2]");
  EXPECT_HAS(contacts.out, "100       19.96");
  const Outcome sum = folder.shell(
      "capstan contacts pads.yaml --json | python3 -c \"import json, sys; d = json.load(sys.stdin); [p] = "
      "d['patches']; print(p['points'], round(p['force'][2], 2), round(p['area'], 6), p['shape_b'], "
      "all(abs(x) < 1e-6 for x in p['moment'] + p['centre'][:2]), p['largest_pressure'] <= 2000.1, "
      "len(d['contacts']) >= p['points'])\"");
  EXPECT_HAS(sum.out, " -19.96 0.01 ground True True True");
}

// A field of a ball carries E pi R^2 / 3 at most: 1e3 pi 0.05^2 / 3 = 2.6 N.
TEST(Check, TellsPatchesThatCannotCarryTheirBody) {
  const Folder folder;
  const char* ball = R"(capstan: 1
materials: [{{name: soft, contact: patch, elastic_modulus: {}}}, {{name: hard, contact: patch, elastic_modulus: .inf}}]
bodies:
  - {{name: a, position: [0, 0, 0.05], joint: free, shape: {{type: sphere, radius: 0.05, mass: 1, material: soft}}}}
shapes: [{{type: plane, name: floor, material: hard}}]
)";
  write_text(folder / "ball.yaml", fmt::format(fmt::runtime(ball), "1e3"));
  const Outcome outcome = folder.capstan("check ball.yaml --strict");
  EXPECT_NE(outcome.code, 0);
  EXPECT_HAS(outcome.err, "warning: body 'a' weighs 9.81 N, and its patches carry 2.");
  EXPECT_HAS(outcome.err, "raise elastic_modulus of material 'soft' from 1e+03 to 1.");
  write_text(folder / "ball.yaml", fmt::format(fmt::runtime(ball), "1e4"));
  EXPECT_EQ(folder.capstan("check ball.yaml --strict").err, "");
}

TEST(Check, TellsKeysOfPatchesThatAreNotMeant) {
  const Folder folder;
  write_text(folder / "a.yaml", R"(capstan: 1
materials: [{name: soft, contact: patch, young_modulus: 1e6}]
bodies:
  - name: a
    position: [0, 0, 0.1]
    joint: free
    shape: {type: sphere, radius: 0.1, mass: 1, material: soft, tets: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], tets: [[0, 1, 2, 3]]}}
shapes: [{type: plane, name: floor, material: soft}]
)");
  const Outcome outcome = folder.capstan("check a.yaml");
  EXPECT_HAS(outcome.err,
             "material 'soft' has the unknown key 'young_modulus'; did you mean 'elastic_modulus'?");
  EXPECT_HAS(outcome.err, "tets of shape 'a_sphere' has no effect: the inside of this shape is known");
}

TEST(Check, TellsTetsThatDoNotFitTheirMesh) {
  const Folder folder;
  write_text(
      folder / "cube.obj",
      "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n"
      "f 1 3 2\nf 1 4 3\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\nf 2 3 7\nf 2 7 6\nf 3 4 8\nf 3 8 7\nf 4 1 5\n"
      "f 4 5 8\n");
  const char* scene = R"(capstan: 1
materials: [{{name: soft, contact: patch}}]
bodies:
  - name: a
    position: [0, 0, 1]
    joint: free
    shape:
      type: mesh
      file: cube.obj
      kind: signed_distance
      resolution: 16
      mass: 1
      material: soft
      tets: {{vertices: [[-{0}, -{0}, -{0}], [{0}, -{0}, -{0}], [{0}, {0}, -{0}], [-{0}, {0}, -{0}], [-{0}, -{0}, {0}], [{0}, -{0}, {0}], [{0}, {0}, {0}], [-{0}, {0}, {0}], [0, 0, 0]],
              tets: [[8, 0, 1, 2], [8, 0, 2, 3], [8, 4, 6, 5], [8, 4, 7, 6], [8, 0, 5, 1], [8, 0, 4, 5], [8, 1, 6, 2], [8, 1, 5, 6], [8, 2, 7, 3], [8, 2, 6, 7], [8, 3, 4, 0], [8, 3, 7, 4]]}}
shapes: [{{type: plane, name: floor, material: soft}}]
)";
  write_text(folder / "a.yaml", fmt::format(fmt::runtime(scene), "1"));
  EXPECT_EQ(folder.capstan("check a.yaml").err.find("do not fit"), std::string::npos);
  write_text(folder / "a.yaml", fmt::format(fmt::runtime(scene), "0.5"));
  EXPECT_HAS(folder.capstan("check a.yaml").err,
             "the tets of shape 'a_sdf_mesh' do not fit its mesh: their surfaces are 0.866 m apart");
}

}  // namespace
}  // namespace capstan::test
