"""A rebase of a whole series: its committed state, one step a topic, and the new pin at the end."""
