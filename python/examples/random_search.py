"""A policy by augmented random search on the walk task (Mania, Guy and Recht 2018, version V2-t).

The policy is linear in observations that are shifted and scaled by what was seen so far: action = W (o - mean) / deviation.
In each round some random directions are tried on both sides, all of them at once in one vector environment, and W goes along
the best of them by how much one side earned more than the other. Needs gymnasium.
"""
import argparse

import numpy as np

import capstan.gym


class Scale:
    """Mean and deviation of all observations so far."""

    def __init__(self, size):
        self.count, self.sum, self.squares = 0, np.zeros(size), np.zeros(size)

    def add(self, observations):
        self.count += len(observations)
        self.sum += observations.sum(axis=0)
        self.squares += (observations**2).sum(axis=0)

    def __call__(self, observations):
        if self.count == 0:
            return observations
        mean = self.sum / self.count
        return (observations - mean) / np.sqrt(np.maximum(self.squares / self.count - mean**2, 1e-6))


def returns(envs, policies, scale, steps):
    """What each policy [n, actions, observations] earns in an episode of so many steps."""
    observations, _ = envs.reset(seed=0)
    total, alive, seen = np.zeros(len(policies)), np.ones(len(policies), dtype=bool), []
    for _ in range(steps):
        actions = np.clip(np.einsum("nao,no->na", policies, scale(observations.astype(float))), -1, 1)
        observations, rewards, ended, cut, _ = envs.step(actions)
        total += np.where(alive, rewards, 0)
        alive &= ~(ended | cut)
        seen.append(observations[alive].astype(float))
    for rows in seen:
        scale.add(rows)
    return total


def main(rounds=30, directions=8, best=4, steps=150, step_size=0.02, noise=0.03, threads=2):
    random = np.random.default_rng(0)
    envs = capstan.gym.make_vec("walk", 2 * directions, threads=threads)
    shape = (envs.single_action_space.shape[0], envs.single_observation_space.shape[0])
    policy, scale, history = np.zeros(shape), Scale(shape[1]), []
    returns(envs, np.zeros((2 * directions, *shape)), scale, 20)  # a first look at observations
    for k in range(rounds):
        tries = random.standard_normal((directions, *shape))
        earned = returns(envs, np.concatenate([policy + noise * tries, policy - noise * tries]), scale, steps)
        plus, minus = earned[:directions], earned[directions:]
        top = np.argsort(-np.maximum(plus, minus))[:best]
        spread = np.concatenate([plus[top], minus[top]]).std()
        policy += step_size / (best * max(spread, 1e-6)) * np.einsum("n,nao->ao", (plus - minus)[top], tries[top])
        history.append(earned.mean())
        print(f"round {k:3}: mean return {earned.mean():8.2f}, best {earned.max():8.2f}", flush=True)
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    main(**vars(parser.parse_args()))
