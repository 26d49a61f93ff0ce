"""A comparison for people: tables for a terminal and for documents, and one HTML page."""
