#include "capstan/io/sensor_log.h"

namespace capstan {

SensorSet logged_sensors(const Model& model, const Scene& scene) {
  std::vector<Sensor> sensors = scene.sensors;
  for (const ModelActuator& actuator : model.actuators) {
    Sensor sensor;
    sensor.name = actuator.name + ".force";
    sensor.type = SensorType::actuator_force;
    sensor.actuator = actuator.name;
    sensors.push_back(std::move(sensor));
  }
  Diagnostics diagnostics;
  SensorSet set = make_sensors(model, scene, sensors, &diagnostics);
  if (!diagnostics.ok()) throw InputError(std::move(diagnostics));
  return set;
}

std::vector<LogColumn> sensor_columns(const SensorSet& sensors) {
  std::vector<LogColumn> columns;
  for (const auto& [name, unit] : sensors.columns()) columns.push_back({"sensor", name, unit});
  return columns;
}

const VecX& SensorReader::read(const State& state, const Workspace* workspace) {
  if (sensors_.size > 0)
    read_sensors(*model_, sensors_, state, workspace, workspace ? &input_ : nullptr, &values_);
  return values_;
}

}  // namespace capstan
