"""Network model ``fluid`` of traces: communication as flows that share every link."""
