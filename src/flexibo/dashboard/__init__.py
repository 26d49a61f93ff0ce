"""The live dashboard: a small web server that shows stored studies and changes nothing."""
