"""Ethernet with RDMA: flows under congestion control on switches with shared buffers."""
