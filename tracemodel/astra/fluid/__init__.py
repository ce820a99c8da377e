"""Network model ``fluid`` of traces: communication as flows that share each link's bandwidth."""
