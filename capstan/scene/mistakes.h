// What in a scene is allowed and surely not meant: most often a number in another unit. Everything found is a
// warning with the place in the file and what to write instead.
//
//   angles     limits, starts, references and targets of joints that turn, beyond two turns and a multiple of
//              half a degree: degrees where radians are wanted
//   options    a time step above 0.1 s or below 0.1 us; gravity above 100 m/s^2, or upwards
//   densities  below 10 kg/m^3, where a density is written: grams per cubic centimetre
//   sizes      moving shapes of more than 10 m that make a body of more than 1000 t, moving meshes of more
//   than
//              10 m: millimetres; moving shapes smaller than 0.1 mm
//   friction   coefficients above 10
//   velocity   limits of joint velocities, which are not enforced
#pragma once

#include "capstan/scene/scene.h"

namespace capstan {

// `dt` is the time step of the run [s].
void find_mistakes(const Scene& scene, double dt, Diagnostics* diagnostics);

}  // namespace capstan
