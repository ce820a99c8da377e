"""The CRC of flits."""

from amaranth.lib.crc import Algorithm
from amaranth.lib.crc.catalog import CRC32_ISCSI

__all__ = ["CRC"]

CRC: Algorithm = CRC32_ISCSI
"""CRC-32C, polynomial 0x1EDC6F41 (Castagnoli, Braeuer and Herrmann, IEEE Transactions on
Communications 41, 1993).

Up to 5,243 bits of data its Hamming distance is 6 (Koopman, "32-bit cyclic redundancy codes for
internet applications", DSN 2002): the largest flit, 48 + 4,096 bits, shows every error of up to
five bits and every burst of up to 32, and misses others once in 2^32. (CRC-32 of Ethernet has a
distance of 4 at this length.)
"""
