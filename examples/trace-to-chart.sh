#!/bin/sh
# A text workload of ASTRA-sim 1.0 as Chakra traces, on FRED-D, a mesh and a cluster of GPUs: one chart.
set -eu
fred=${FRED:-.venv/bin/fred}
$fred chakra convert examples/three-layers.txt --npus 20 --passes 2 -o build/layers
$fred estimate --workload build/layers --system examples/ring-system.yaml \
  --network fred-d --network mesh:5x4 --network examples/gpu-cluster.yaml --chart build/fabrics.html
