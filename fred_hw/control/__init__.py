"""Control of a switch: registers behind an AXI4-Lite slave."""
