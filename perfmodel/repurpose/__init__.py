"""RePurpose: inference of a trained network on several workers with little traffic between them.

Neurons are assigned to workers and weights are pruned, so that few activations cross.
"""
