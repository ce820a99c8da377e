"""Our own simulation under the execution loop: communication as flows that share every link."""
