// Sums, differences, multiples and products of 3-vectors and 3x3 matrices, as values.
//
// Eigen's own operators give expressions, each of a type of its own: a large matrix gains by that, three
// numbers do not, and to compile thousands of such types took a third of the time of a build. These operators
// have the same results bit for bit, but for s (A b), which Eigen works out as (s A) b. Each is the better
// match than Eigen's where both sides are 3-vectors (or parts of larger ones, such as v.segment<3>(6)), 3x3
// matrices or numbers. An `auto` of a sum is a value here, which cannot dangle.
#pragma once

#include <Eigen/Core>
#include <type_traits>

namespace capstan {

template <class Derived>
void as_eigen(const Eigen::MatrixBase<Derived>*);  // of v.segment<3>(6), too, whose base has another type
template <class A>
concept EigenMatrix = requires(const A* a) {
  as_eigen(a);
};
template <class A, int rows, int columns>
concept EigenOfSize = EigenMatrix<A> && std::is_same_v<typename A::Scalar, double> &&
                      A::RowsAtCompileTime == rows&& A::ColsAtCompileTime == columns;
template <class A>
concept ThreeVector = EigenOfSize<A, 3, 1>;
template <class A>
concept ThreeMatrix = EigenOfSize<A, 3, 3>;
template <class T>
concept Number = std::is_arithmetic_v<T>;

template <ThreeVector A, ThreeVector B>
Eigen::Vector3d operator+(const A& a, const B& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
template <ThreeVector A, ThreeVector B>
Eigen::Vector3d operator-(const A& a, const B& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
template <ThreeVector A>
Eigen::Vector3d operator-(const A& a) {
  return {-a[0], -a[1], -a[2]};
}
template <Number T, ThreeVector A>
Eigen::Vector3d operator*(T s, const A& a) {
  return {s * a[0], s * a[1], s * a[2]};
}
template <ThreeVector A, Number T>
Eigen::Vector3d operator*(const A& a, T s) {
  return {a[0] * s, a[1] * s, a[2] * s};
}
template <ThreeVector A, Number T>
Eigen::Vector3d operator/(const A& a, T s) {
  return {a[0] / s, a[1] / s, a[2] / s};
}

// f(i, k) for each entry.
template <class F>
Eigen::Matrix3d make_three_matrix(F f) {
  Eigen::Matrix3d r;
  r(0, 0) = f(0, 0), r(1, 0) = f(1, 0), r(2, 0) = f(2, 0);
  r(0, 1) = f(0, 1), r(1, 1) = f(1, 1), r(2, 1) = f(2, 1);
  r(0, 2) = f(0, 2), r(1, 2) = f(1, 2), r(2, 2) = f(2, 2);
  return r;
}
template <ThreeMatrix A, ThreeMatrix B>
Eigen::Matrix3d operator+(const A& a, const B& b) {
  return make_three_matrix([&](int i, int k) { return a(i, k) + b(i, k); });
}
template <ThreeMatrix A, ThreeMatrix B>
Eigen::Matrix3d operator-(const A& a, const B& b) {
  return make_three_matrix([&](int i, int k) { return a(i, k) - b(i, k); });
}
template <ThreeMatrix A>
Eigen::Matrix3d operator-(const A& a) {
  return make_three_matrix([&](int i, int k) { return -a(i, k); });
}
template <Number T, ThreeMatrix A>
Eigen::Matrix3d operator*(T s, const A& a) {
  return make_three_matrix([&](int i, int k) { return s * a(i, k); });
}
template <ThreeMatrix A, Number T>
Eigen::Matrix3d operator*(const A& a, T s) {
  return make_three_matrix([&](int i, int k) { return a(i, k) * s; });
}
template <ThreeMatrix A, Number T>
Eigen::Matrix3d operator/(const A& a, T s) {
  return make_three_matrix([&](int i, int k) { return a(i, k) / s; });
}

// Matrices and their transposes; of other 3x3 parts Eigen makes the products.
template <class A>
concept PlainThreeMatrix =
    std::is_same_v<A, Eigen::Matrix3d> || std::is_same_v<A, Eigen::Transpose<Eigen::Matrix3d>> ||
    std::is_same_v<A, Eigen::Transpose<const Eigen::Matrix3d>>;

template <PlainThreeMatrix A, ThreeVector B>
Eigen::Vector3d operator*(const A& a, const B& b) {
  Eigen::Vector3d r;
  if constexpr (std::is_same_v<B, Eigen::Vector3d>) {
    r.noalias() = a.lazyProduct(b);
  } else {
    r.noalias() = a.lazyProduct(Eigen::Vector3d(b));
  }
  return r;
}
template <PlainThreeMatrix A, PlainThreeMatrix B>
Eigen::Matrix3d operator*(const A& a, const B& b) {
  Eigen::Matrix3d r;
  r.noalias() = a.lazyProduct(b);
  return r;
}

}  // namespace capstan
