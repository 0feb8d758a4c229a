"""A policy by random search on the walk task (Mania, Guy and Recht 2018, in its plainest form).

The policy is linear: action = tanh(W observation). In each round some random directions are tried on both sides, all of them
at once in one vector environment, and W goes along those that earned more. Needs gymnasium.
"""
import argparse

import numpy as np

import capstan.gym


def returns(envs, policies, steps):
    """What each policy [n, actions, observations] earns in an episode of so many steps."""
    observations, _ = envs.reset(seed=0)
    total, alive = np.zeros(len(policies)), np.ones(len(policies), dtype=bool)
    for _ in range(steps):
        actions = np.tanh(np.einsum("nao,no->na", policies, observations))
        observations, rewards, ended, cut, _ = envs.step(actions)
        total += np.where(alive, rewards, 0)
        alive &= ~(ended | cut)
    return total


def main(rounds=30, directions=8, steps=150, step_size=0.05, noise=0.05, threads=2):
    random = np.random.default_rng(0)
    envs = capstan.gym.make_vec("walk", 2 * directions, threads=threads)
    shape = (envs.single_action_space.shape[0], envs.single_observation_space.shape[0])
    policy, history = np.zeros(shape), []
    for k in range(rounds):
        tries = noise * random.standard_normal((directions, *shape))
        earned = returns(envs, np.concatenate([policy + tries, policy - tries]), steps)
        plus, minus = earned[:directions], earned[directions:]
        policy += step_size / (directions * noise * max(earned.std(), 1e-9)) * np.einsum("n,nao->ao", plus - minus, tries)
        history.append(earned.mean())
        print(f"round {k:3}: mean return {earned.mean():8.2f}, best {earned.max():8.2f}")
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    main(**vars(parser.parse_args()))
