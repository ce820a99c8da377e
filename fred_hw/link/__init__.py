"""Links that recover: headers, CRC, Go-Back-N, credits."""
