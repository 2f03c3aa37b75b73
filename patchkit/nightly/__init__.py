"""The nightly as a machine: its state, what it decides, how it goes from step to step, what it writes about it."""
