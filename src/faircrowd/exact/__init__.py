"""Sums, hashes and random draws that are the same to the last bit in any order, used by every stage.

- :mod:`~faircrowd.exact.sums`: numbers rounded to multiples of a power of two, so that their sums do not depend on
  the order of rows, the number of blocks or the engine.
- :mod:`~faircrowd.exact.hashing`: a seeded hash for each task id, which breaks ties and draws random decisions.
- :mod:`~faircrowd.exact.conjugate_gradients`: a minimum of many unknowns, found with such sums.
"""
