"""Link layer: headers, CRC, go-back-N retransmission, credits."""
