"""Small parts that every package needs: array types, numbers and durations as text, threads, interrupts.

Every package may import it. It imports only `flexibo.errors`.
"""
