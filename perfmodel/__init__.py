"""The wafer: topologies, collectives, workloads, and estimates from timing records."""
