"""What a study shows: its front, certificate, summary and trace.

It imports the optimizer and what lies below. Studies, views and the command line import it.
"""
