// What the sensors of a run read, as further columns of logs and recordings.
#pragma once

#include "capstan/io/log.h"
#include "capstan/step/sensors.h"

namespace capstan {

// The scene's sensors, and after them the force of every actuator, NAME.force. Throws InputError.
SensorSet logged_sensors(const Model& model, const Scene& scene);

std::vector<LogColumn> sensor_columns(const SensorSet& sensors);

// Reads them as the run goes. The model outlives it.
class SensorReader {
 public:
  SensorReader(const Model& model, SensorSet sensors) : model_(&model), sensors_(std::move(sensors)) {}

  // Before every step: what acts in it.
  void note_input(const Input& input) {
    if (sensors_.size > 0) input_ = input;
  }
  // After it; `workspace` is null where no step led to the state.
  const VecX& read(const State& state, const Workspace* workspace);
  const SensorSet& sensors() const { return sensors_; }

 private:
  const Model* model_;
  SensorSet sensors_;
  Input input_;
  VecX values_;
};

}  // namespace capstan
