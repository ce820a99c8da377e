"""The performance model: topologies, collectives, workloads and estimates from timing records."""
