"""Control of a switch: its registers, and the AXI4-Lite slave that they stand behind."""
