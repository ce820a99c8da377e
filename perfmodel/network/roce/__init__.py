"""RDMA over Ethernet: flows under congestion control on switches with shared buffers."""
