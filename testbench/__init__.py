"""Co-simulation: benches, golden model, simulator runner, fault injection, characterization."""
