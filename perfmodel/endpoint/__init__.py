"""What the endpoint of an NPU takes from compute, and how fast it drives the network."""
