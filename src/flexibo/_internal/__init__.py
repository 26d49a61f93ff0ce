"""Small things that every package needs: array types, numbers and durations as text, threads, interrupts.

Everybody may import it. It imports only `flexibo.errors`.
"""
