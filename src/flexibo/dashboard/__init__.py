"""The live dashboard: a small web server that shows stored studies and never changes them.

Only the command line imports it. It reads storages, and draws with the charts of `flexibo.web`.
"""
