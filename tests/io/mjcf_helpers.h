// What the tests of the MJCF reader share.
#pragma once

#include <gtest/gtest.h>

#include "capstan/io/mjcf_reader.h"
#include "capstan/math/rotation.h"
#include "tests/io/xml_helpers.h"

namespace capstan {

struct Mjcf : testing::Test {
  TemporaryFolder folder{"capstan_mjcf"};
  Diagnostics diagnostics;
  Scene read(const std::string& inside) {
    diagnostics = {};
    return read_mjcf(folder.write("scene.xml", "<mujoco>\n" + inside + "\n</mujoco>"), &diagnostics);
  }
  // Must be free of errors and warnings.
  Scene read_clean(const std::string& inside) {
    Scene scene = read(inside);
    EXPECT_EQ(diagnostics.text(), "");
    return scene;
  }
  // One world body 'b' with this content.
  Scene read_body(const std::string& content) {
    return read("<worldbody><body name='b'>" + content + "</body></worldbody>");
  }
};

inline void expect_near(const Vec3& a, const Vec3& b, double tolerance = 1e-14) {
  EXPECT_LT((a - b).norm(), tolerance) << a.transpose() << " is not " << b.transpose();
}
// The same rotation: quaternions of either sign.
inline void expect_same_turn(const Vec4& a, const Vec4& b) {
  EXPECT_NEAR(std::abs(a.dot(b)), 1, 1e-14) << a.transpose() << " is not " << b.transpose();
}

}  // namespace capstan
