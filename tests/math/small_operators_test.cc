#include "capstan/math/small_operators.h"

#include <gtest/gtest.h>

#include "capstan/math/types.h"

namespace capstan::small_operators_test {
namespace {

template <class A, class B>
constexpr bool kSame = std::is_same_v<A, B>;

// Of 3-vectors, their parts and 3x3 matrices of doubles, and of nothing else.
TEST(SmallOperators, AreValues) {
  Vec3 a, b;
  VecX v;
  Mat3 A;
  const Mat3 B = Mat3::Zero();
  const Eigen::Vector3f f;
  const Eigen::Vector3i n;
  static_assert(kSame<decltype(a + b), Vec3> && kSame<decltype(a - b + b), Vec3> &&
                kSame<decltype(-a), Vec3>);
  static_assert(kSame<decltype(2 * a), Vec3> && kSame<decltype(a * 2.0f), Vec3> &&
                kSame<decltype(a / 2), Vec3>);
  static_assert(kSame<decltype(v.segment<3>(3) - a), Vec3> && kSame<decltype(a + A.col(1)), Vec3>);
  static_assert(kSame<decltype(A + B), Mat3> && kSame<decltype(A - A.transpose()), Mat3>);
  static_assert(kSame<decltype(A * a), Vec3> && kSame<decltype(A.transpose() * (a - b)), Vec3>);
  static_assert(kSame<decltype(B.transpose() * A), Mat3> && kSame<decltype(A * B.transpose()), Mat3>);
  static_assert(kSame<decltype(2 * A), Mat3> && kSame<decltype(A * 0.5), Mat3> && kSame<decltype(-A), Mat3>);
  static_assert(!kSame<decltype(f + f), Vec3> && !kSame<decltype(n - n), Vec3>);
  static_assert(!kSame<decltype(v + v), VecX> && !kSame<decltype(Vec2() + Vec2()), Vec2>);
}

// The same bits as Eigen's own, for which arrays and lazy products stand.
TEST(SmallOperators, HaveTheBitsOfEigen) {
  std::srand(1);
  for (int i = 0; i < 1000; ++i) {
    const Vec3 a = Vec3::Random(), b = 1e3 * Vec3::Random();
    const VecX v = VecX::Random(9);
    const Mat3 A = Mat3::Random(), B = Mat3::Random();
    const double s = a[0] * 7;
    EXPECT_EQ(a + b, Vec3(a.array() + b.array()));
    EXPECT_EQ(a - b, Vec3(a.array() - b.array()));
    EXPECT_EQ(-a, Vec3(0 - a.array()));
    EXPECT_EQ(s * a, Vec3(s * a.array()));
    EXPECT_EQ(a * s, Vec3(s * a.array()));
    EXPECT_EQ(3 * a, Vec3(3.0 * a.array()));
    EXPECT_EQ(a / s, Vec3(a.array() / s));
    EXPECT_EQ(v.segment<3>(4) + a, Vec3(v.segment<3>(4).array() + a.array()));
    EXPECT_EQ(A + B, Mat3(A.array() + B.array()));
    EXPECT_EQ(A - B.transpose(), Mat3(A.array() - B.transpose().array()));
    EXPECT_EQ(s * A, Mat3(s * A.array()));
    EXPECT_EQ(A / s, Mat3(A.array() / s));
    EXPECT_EQ(A * b, Vec3(A.lazyProduct(b)));
    EXPECT_EQ(A.transpose() * b, Vec3(A.transpose().lazyProduct(b)));
    EXPECT_EQ(A * v.segment<3>(2), Vec3(A.lazyProduct(v.segment<3>(2))));
    EXPECT_EQ(A * B, Mat3(A.lazyProduct(B)));
    EXPECT_EQ(A * B.transpose(), Mat3(A.lazyProduct(B.transpose())));
    Vec3 c = a;
    c = A * c + c;  // what is assigned may be on the right, too
    EXPECT_EQ(c, Vec3(Vec3(A.lazyProduct(a)).array() + a.array()));
  }
}

}  // namespace
}  // namespace capstan::small_operators_test
