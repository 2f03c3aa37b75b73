"""The commands, one a module: parse, call one verb, show its result."""
