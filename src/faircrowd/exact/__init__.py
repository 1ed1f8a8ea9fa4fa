"""Sums, hashes and draws that come out the same to the last bit in any order."""
